// Package rolling shows that a deployment of three servers and two instances can be renewed piece by piece while it is used: every
// server and every instance is stopped and started again in turn, under load, without a call that fails and without a change that
// is lost or comes twice. It holds tests only.
package rolling
