// Package peers keeps the connections of a host to its peers.
package peers
