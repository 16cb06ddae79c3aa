package live

import (
	"math"
	"slices"
)

const (
	// scale makes each bucket 9 % wider than the one before, as k6's are.
	scale           = 3
	bucketsInDouble = 1 << scale
	// Durations from a nanosecond to more than four minutes have buckets of their own.
	lowestBucket = -30 * bucketsInDouble
	bucketCount  = 38 * bucketsInDouble
)

// duration is an exponential histogram of seconds, which Prometheus stores as a native one.
type duration struct {
	count   int64
	sumS    float64
	buckets [bucketCount]int64
}

func (d *duration) add(ns int64) {
	seconds := float64(max(ns, 1)) / 1e9
	d.count++
	d.sumS += seconds
	bucket := int(math.Ceil(math.Log2(seconds)*bucketsInDouble)) - 1 - lowestBucket
	d.buckets[min(max(bucket, 0), bucketCount-1)]++
}

// point returns a copy as a point of OTLP, with the buckets that are in use.
func (d *duration) point() object {
	isUsed := func(count int64) bool { return count > 0 }
	first, end := slices.IndexFunc(d.buckets[:], isUsed), bucketCount
	for !isUsed(d.buckets[end-1]) {
		end--
	}
	positive := object{"offset": first + lowestBucket, "bucketCounts": slices.Clone(d.buckets[first:end])}
	return object{"count": d.count, "sum": d.sumS, "scale": scale, "positive": positive}
}
