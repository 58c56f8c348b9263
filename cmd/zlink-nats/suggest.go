package main

import (
	"slices"
	"strings"
)

// suggest ends a sentence about an unknown name: the names that look like it, or
// all of them when none does.
func suggest(name string, known []string) string {
	const mistakes = 3 // more of them, and it is another word
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b string) int { return distance(name, a) - distance(name, b) })
	n := 0
	for n < len(near) && n < 3 && distance(name, near[n]) <= mistakes {
		n++
	}
	if n == 0 {
		return "; known are " + strings.Join(known, ", ")
	}
	return "; did you mean " + strings.Join(near[:n], " or ") + "?"
}

// distance is the number of bytes to insert, delete or replace to make b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
