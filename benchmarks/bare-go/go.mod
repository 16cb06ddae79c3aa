// Below wirebench.dev/services, so that it may use the generated messages, which are internal there.
module wirebench.dev/services/bare

go 1.25.0

require (
	google.golang.org/grpc v1.82.1
	wirebench.dev/services v0.0.0
)

require (
	golang.org/x/net v0.53.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260414002931-afd174a4e478 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

replace wirebench.dev/services => ../../services/go
