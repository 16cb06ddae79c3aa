//go:build !race

package engine

const isRaceDetected = false
