package socket

import (
	"strconv"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
)

// emit hands one request's sample to k6, with the VU's tags and metadata as net/grpc does it.
func (i *instance) emit(operation string, reply *Reply, tags sobek.Value) error {
	state := i.vu.State()
	enabled := state.Options.SystemTags
	tagged := state.Tags.GetCurrentValues()
	if err := common.ApplyCustomUserTags(i.vu.Runtime(), &tagged, tags); err != nil {
		return err
	}
	if _, given := tagged.Tags.Get(metrics.TagName.String()); !given {
		tagged.SetSystemTagOrMetaIfEnabled(enabled, metrics.TagName, operation)
	}
	tagged.SetSystemTagOrMetaIfEnabled(enabled, metrics.TagStatus, strconv.Itoa(reply.Status))
	if reply.Status != statusOK {
		tagged.SetMetadata(sample.ErrorMetadata, reply.Message)
	}
	metrics.PushIfNotDone(i.vu.Context(), state.Samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: i.duration, Tags: tagged.Tags},
		Time:       reply.end,
		Metadata:   tagged.Metadata,
		Value:      metrics.D(reply.duration),
	})
	return nil
}
