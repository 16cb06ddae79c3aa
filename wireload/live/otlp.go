package live

import "slices"

// The JSON form of OTLP's metrics, as far as they are sent:
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto

const (
	cumulative = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE
	// noValue is the flag of a point without a value. Prometheus makes a stale marker of it, so that lines end with
	// the load and not five minutes later.
	noValue = 1
)

type request struct {
	ResourceMetrics [1]resourceMetrics `json:"resourceMetrics"`
}

type resourceMetrics struct {
	ScopeMetrics [1]scopeMetrics `json:"scopeMetrics"`
}

type scopeMetrics struct {
	Metrics []metric `json:"metrics"`
}

type metric struct {
	Name      string `json:"name"`
	Unit      string `json:"unit,omitempty"`
	Sum       *data  `json:"sum,omitempty"`
	Gauge     *data  `json:"gauge,omitempty"`
	Histogram *data  `json:"exponentialHistogram,omitempty"`
}

type data struct {
	Temporality int     `json:"aggregationTemporality,omitempty"`
	IsMonotonic bool    `json:"isMonotonic,omitempty"`
	Points      []point `json:"dataPoints"`
}

// point has a number or a histogram.
type point struct {
	Attributes []attribute `json:"attributes"`
	TimeUnixNS int64       `json:"timeUnixNano,string"`
	Flags      int         `json:"flags,omitempty"`
	Number     *int64      `json:"asInt,omitempty,string"`
	Count      int64       `json:"count,omitempty,string"`
	SumS       float64     `json:"sum,omitempty"`
	Scale      int         `json:"scale,omitempty"`
	Positive   *buckets    `json:"positive,omitempty"`
}

type buckets struct {
	Offset int     `json:"offset"`
	Counts []int64 `json:"bucketCounts"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value attributeValue `json:"value"`
}

type attributeValue struct {
	Text string `json:"stringValue"`
}

func label(name, value string) attribute { return attribute{name, attributeValue{value}} }

func (m metric) data() *data {
	switch {
	case m.Sum != nil:
		return m.Sum
	case m.Gauge != nil:
		return m.Gauge
	}
	return m.Histogram
}

// end adds the end of each series, a millisecond after its last value: Prometheus has no times that are finer.
func (m metric) end() {
	const after = 1_000_000
	points := &m.data().Points
	for _, each := range slices.Clone(*points) {
		*points = append(*points, point{Attributes: each.Attributes, TimeUnixNS: each.TimeUnixNS + after, Flags: noValue})
	}
}
