//go:build !race

package testenv

// RaceDetector tells whether the tests run with the race detector, several times slower.
const RaceDetector = false
