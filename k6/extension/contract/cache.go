// Package contract loads the messages of gRPC methods through k6.
package contract

import (
	"fmt"
	"sync"

	"go.k6.io/k6/js/common"
	"go.k6.io/k6/lib/fsext"
	"wirebench.dev/wireload/contract"
)

// Schema finds the messages of gRPC methods.
type Schema = contract.Schema

// Cache keeps schemas that have been loaded, by path: all VUs of a script ask for the same.
type Cache struct {
	mutex   sync.Mutex
	schemas map[string]*Schema
}

// Load returns the schema of a set of descriptors, loaded once a process, through k6's file system, so that it is part of
// a k6 archive. Relative paths start at the script.
func (c *Cache) Load(environment *common.InitEnvironment, path string) (*Schema, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known, ok := c.schemas[path]; ok {
		return known, nil
	}
	content, err := fsext.ReadFile(environment.FileSystems["file"], environment.GetAbsFilePath(path))
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	loaded, err := contract.Parse(content)
	if err != nil {
		return nil, fmt.Errorf("load: %s is no set of descriptors: %w", path, err)
	}
	if c.schemas == nil {
		c.schemas = map[string]*Schema{}
	}
	c.schemas[path] = loaded
	return loaded, nil
}
