// Package histories holds the tests of the whole service under faults. Callers make
// requests of every writing operation to two instances over the network, while
// instances are killed and started again, servers stop, connections are cut, delayed and
// held back, and replies are lost. What every caller asked and was told is recorded, and
// the record is checked afterwards:
//
//   - with Porcupine, object by object, lease by lease and node by node: there is an order
//     of the calls, in agreement with the time at which each was made and answered, in
//     which a sequential model gives the same answers;
//   - against the stream of changes: it is complete and in order, it has what callers were
//     told was written and nothing that they were told was not, and every answer is the one
//     that the rules give in the state that the stream has at the answer's revision.
//
// docs/testing.md says how to run them and how to reproduce a failure. There is nothing to
// import.
package histories
