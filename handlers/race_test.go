//go:build race

package handlers_test

// raceDetector tells whether the tests run several times slower, with the race detector.
const raceDetector = true
