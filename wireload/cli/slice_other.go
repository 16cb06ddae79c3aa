//go:build !linux

package cli

func shortenSlices() {}
