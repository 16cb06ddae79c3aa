module wirebench.dev/wireload

go 1.25.0

require google.golang.org/protobuf v1.36.11
