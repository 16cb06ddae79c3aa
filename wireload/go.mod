module wirebench.dev/wireload

go 1.25.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/bufbuild/protocompile v0.14.1
	go.yaml.in/yaml/v4 v4.0.0
	golang.org/x/net v0.56.0
	golang.org/x/sys v0.47.0
	google.golang.org/genproto v0.0.0-20260414002931-afd174a4e478
	google.golang.org/genproto/googleapis/api v0.0.0-20260414002931-afd174a4e478
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260414002931-afd174a4e478
	google.golang.org/protobuf v1.36.11
)

require (
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)
