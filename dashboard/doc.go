// Package dashboard is the page that an instance shows to people: one answer of HTML that
// needs nothing else, and the same as JSON.
//
// The page is whole without a script. With one, it asks every few seconds for
// [Overview] and the page's inner part, made by the same template, and puts that in
// place. What it shows is chosen by others and hostile: html/template escapes it, and
// the policy that goes with the page runs no script and no style but its own.
//
// The package knows nothing but what it is given; see [Overview].
package dashboard
