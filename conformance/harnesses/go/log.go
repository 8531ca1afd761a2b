package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var readerFeatures = []string{"columnMapping", "deletionVectors", "timestampNtz", "vacuumProtocolCheck"}

// texts is an object of the log, which Parquet checkpoints have as a list of pairs.
type texts map[string]*string

func (t *texts) UnmarshalJSON(data []byte) error {
	*t = texts{}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var pairs []struct {
			Key   string
			Value *string
		}
		if err := json.Unmarshal(data, &pairs); err != nil {
			return err
		}
		for _, pair := range pairs {
			(*t)[pair.Key] = pair.Value
		}
		return nil
	}
	return json.Unmarshal(data, (*map[string]*string)(t))
}

type vector struct {
	StorageType    string `json:"storageType"`
	PathOrInlineDv string `json:"pathOrInlineDv"`
	Offset         *int64 `json:"offset"`
	SizeInBytes    int64  `json:"sizeInBytes"`
	Cardinality    int64  `json:"cardinality"`
}

func (v *vector) id() string {
	if v == nil {
		return ""
	}
	if v.Offset == nil {
		return v.StorageType + v.PathOrInlineDv
	}
	return fmt.Sprintf("%s%s@%d", v.StorageType, v.PathOrInlineDv, *v.Offset)
}

type file struct {
	Path            string  `json:"path"`
	PartitionValues texts   `json:"partitionValues"`
	Size            int64   `json:"size"`
	DeletionVector  *vector `json:"deletionVector"`
}

type protocol struct {
	MinReaderVersion int      `json:"minReaderVersion"`
	MinWriterVersion int      `json:"minWriterVersion"`
	ReaderFeatures   []string `json:"readerFeatures,omitempty"`
	WriterFeatures   []string `json:"writerFeatures,omitempty"`
}

type metadata struct {
	ID               string          `json:"id"`
	Name             *string         `json:"name,omitempty"`
	Description      *string         `json:"description,omitempty"`
	SchemaString     string          `json:"schemaString"`
	PartitionColumns []string        `json:"partitionColumns"`
	Configuration    texts           `json:"configuration"`
	CreatedTime      *int64          `json:"createdTime,omitempty"`
	Format           json.RawMessage `json:"-"`
}

type action struct {
	Add      *file     `json:"add"`
	Remove   *file     `json:"remove"`
	Protocol *protocol `json:"protocol"`
	MetaData *metadata `json:"metaData"`
	Txn      *struct {
		AppID   string `json:"appId"`
		Version int64  `json:"version"`
	} `json:"txn"`
	DomainMetadata *struct {
		Domain        string `json:"domain"`
		Configuration string `json:"configuration"`
		Removed       bool   `json:"removed"`
	} `json:"domainMetadata"`
}

type state struct {
	table        string
	version      int64
	protocol     *protocol
	metadata     *metadata
	live         map[string]*file
	transactions map[string]int64
	domains      map[string]string
}

// apply replays the actions of a commit or checkpoint. Removes come first: the order within a commit has no meaning.
func (s *state) apply(actions []action) {
	for _, each := range actions {
		if each.Remove != nil {
			// the path with another vector stays live
			if live := s.live[each.Remove.Path]; live != nil && live.DeletionVector.id() == each.Remove.DeletionVector.id() {
				delete(s.live, each.Remove.Path)
			}
		}
	}
	for _, each := range actions {
		switch {
		case each.Add != nil:
			s.live[each.Add.Path] = each.Add
		case each.Protocol != nil:
			s.protocol = each.Protocol
		case each.MetaData != nil:
			s.metadata = each.MetaData
		case each.Txn != nil:
			s.transactions[each.Txn.AppID] = each.Txn.Version
		case each.DomainMetadata != nil && each.DomainMetadata.Removed:
			delete(s.domains, each.DomainMetadata.Domain)
		case each.DomainMetadata != nil:
			s.domains[each.DomainMetadata.Domain] = each.DomainMetadata.Configuration
		}
	}
}

// listing is what the names in the log directory say.
type listing struct {
	commits     map[int64]string
	checkpoints map[int64][]string // complete ones, by version
	newest      int64
	hasV2       bool // whether there is a checkpoint with a UUID in its name
}

func listLog(table string) (*listing, error) {
	entries, err := os.ReadDir(filepath.Join(table, "_delta_log"))
	if err != nil {
		return nil, refuse("not-found", "snapshot", "no log: %v", err)
	}
	found := &listing{commits: map[int64]string{}, checkpoints: map[int64][]string{}, newest: -1}
	parts := map[string][]string{} // by version and number of parts
	for _, entry := range entries {
		name := filepath.Join(table, "_delta_log", entry.Name())
		words := strings.Split(entry.Name(), ".")
		version, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil || len(words[0]) != 20 {
			continue
		}
		switch {
		case len(words) == 2 && words[1] == "json":
			found.commits[version] = name
			found.newest = max(found.newest, version)
		case len(words) == 3 && words[1] == "checkpoint" && words[2] == "parquet":
			found.checkpoints[version] = []string{name}
			found.newest = max(found.newest, version)
		case len(words) == 4 && words[1] == "checkpoint":
			found.hasV2 = true
		case len(words) == 5 && words[1] == "checkpoint":
			key := words[0] + "." + words[3]
			parts[key] = append(parts[key], name)
			if total, err := strconv.Atoi(words[3]); err == nil && len(parts[key]) == total {
				if _, hasClassic := found.checkpoints[version]; !hasClassic {
					found.checkpoints[version] = parts[key]
				}
				found.newest = max(found.newest, version)
			}
		}
	}
	if found.newest < 0 {
		return nil, refuse("not-found", "snapshot", "the log has no commit")
	}
	return found, nil
}

func loadState(table string, at *at) (*state, error) {
	log, err := listLog(table)
	if err != nil {
		return nil, err
	}
	version := log.newest
	if at != nil && at.Version != nil {
		if version = *at.Version; version > log.newest || version < 0 {
			return nil, refuse("not-found", "snapshot", "version %d; the newest is %d", version, log.newest)
		}
	} else if at != nil {
		return nil, refuse("unsupported", "snapshot", "time travel by timestamp")
	}
	found := &state{table: table, version: version, live: map[string]*file{}, transactions: map[string]int64{},
		domains: map[string]string{}}
	first := int64(0)
	for base := range log.checkpoints {
		if base <= version && base+1 > first {
			first = base + 1
		}
	}
	for _, name := range log.checkpoints[first-1] {
		actions, err := readCheckpoint(name)
		if err != nil {
			return nil, refuse("corrupt", "snapshot", "%s: %v", filepath.Base(name), err)
		}
		found.apply(actions)
	}
	for number := first; number <= version; number++ {
		name, ok := log.commits[number]
		if !ok && log.hasV2 {
			return nil, &Refusal{Category: "unsupported", Phase: "snapshot", Features: []string{"v2Checkpoint"},
				Message: fmt.Sprintf("commit %d may be in a V2 checkpoint", number)}
		}
		if !ok {
			return nil, refuse("corrupt", "snapshot", "commit %d is missing", number)
		}
		actions, err := readCommit(name)
		if err != nil {
			return nil, refuse("corrupt", "snapshot", "%s: %v", filepath.Base(name), err)
		}
		found.apply(actions)
	}
	return found, found.checkSupported()
}

func readCommit(name string) ([]action, error) {
	content, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	var actions []action
	lines := bufio.NewReader(content)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var found action
			if err := json.Unmarshal(line, &found); err != nil {
				return nil, err
			}
			actions = append(actions, found)
		}
		if err != nil {
			return actions, nil
		}
	}
}

func (s *state) checkSupported() error {
	if s.protocol == nil || s.metadata == nil {
		return refuse("corrupt", "snapshot", "version %d has no protocol or no metadata", s.version)
	}
	var unknown []string
	for _, name := range s.protocol.ReaderFeatures {
		if !slices.Contains(readerFeatures, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 || s.protocol.MinReaderVersion > 3 {
		return &Refusal{Category: "unsupported", Phase: "snapshot", Features: unknown,
			Message: fmt.Sprintf("reader version %d with %v", s.protocol.MinReaderVersion, unknown)}
	}
	return nil
}

func (s *state) describe() map[string]any {
	files := []map[string]any{}
	for _, each := range s.live {
		entry := map[string]any{"path": each.Path, "size": each.Size}
		if each.DeletionVector != nil {
			entry["deletion_vector_id"] = each.DeletionVector.id()
		}
		files = append(files, entry)
	}
	return map[string]any{"version": s.version, "protocol": s.protocol, "metadata": s.metadata, "files": files,
		"transactions": s.transactions, "domains": s.domains}
}
