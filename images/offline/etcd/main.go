// Command etcd is the etcd server. It is built from here because etcd's own main package replaces modules by folders
// of its repository, which `go install` rejects.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
