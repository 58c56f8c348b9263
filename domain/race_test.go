//go:build race

package domain_test

// raceDetector tells whether the tests run several times slower, with the race detector.
const raceDetector = true
