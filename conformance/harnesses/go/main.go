// Command reader is an example of a candidate in Go: it answers the requests of deltaspec about Delta tables.
//
// It reads commits, classic and multipart checkpoints, partition values, column mapping and deletion vectors. Everything
// else is declared as unsupported or refused.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Refusal is an error answer of the candidate protocol.
type Refusal struct {
	Category string   `json:"category"`
	Message  string   `json:"message"`
	Code     string   `json:"code,omitempty"`
	Phase    string   `json:"phase,omitempty"`
	Features []string `json:"features,omitempty"`
}

func (r *Refusal) Error() string { return r.Category + ": " + r.Message }

func refuse(category, phase, format string, arguments ...any) error {
	return &Refusal{Category: category, Phase: phase, Message: fmt.Sprintf(format, arguments...)}
}

type at struct {
	Version *int64 `json:"version"`
}

type request struct {
	Seq     int64       `json:"seq"`
	Op      string      `json:"op"`
	Table   string      `json:"table"`
	Out     string      `json:"out"`
	At      *at         `json:"at"`
	Columns *[][]string `json:"columns"`
}

var capabilities = map[string]any{
	"protocol":            1,
	"name":                "deltaspec example in Go",
	"version":             "1.0",
	"language":            "Go",
	"ops":                 []string{"snapshot", "scan"},
	"want":                []string{"files", "transactions", "domains"},
	"at":                  []string{"version"},
	"predicate":           "none",
	"reader_features":     readerFeatures,
	"max_reader_version":  3,
	"types_not_supported": []string{"variant"},
}

func main() {
	answers, err := moveStdoutAside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	requests := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := requests.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var asked request
		if err == nil {
			err = json.Unmarshal(line, &asked)
		}
		answer := map[string]any{"seq": asked.Seq}
		if err != nil {
			answer["error"] = &Refusal{Category: "invalid-request", Message: err.Error()}
		} else if ok, err := perform(&asked); err != nil {
			answer["error"] = describe(err)
		} else {
			answer["ok"] = ok
		}
		text, err := json.Marshal(answer)
		if err == nil {
			_, err = answers.Write(append(text, '\n'))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if asked.Op == "bye" {
			return
		}
	}
}

// moveStdoutAside returns the stream of answers. Whatever is printed to stdout later goes to stderr.
func moveStdoutAside() (*os.File, error) {
	descriptor, err := syscall.Dup(1)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(descriptor)
	return os.NewFile(uintptr(descriptor), "answers"), syscall.Dup3(2, 1, 0)
}

func describe(err error) *Refusal {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, os.ErrNotExist):
		return &Refusal{Category: "corrupt", Message: err.Error()}
	}
	return &Refusal{Category: "internal", Message: err.Error()}
}

func perform(asked *request) (answer any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = refuse("internal", "", "panic: %v", reason)
		}
	}()
	switch asked.Op {
	case "hello":
		return capabilities, nil
	case "bye":
		return map[string]any{}, nil
	case "snapshot":
		state, err := loadState(asked.Table, asked.At)
		if err != nil {
			return nil, err
		}
		return state.describe(), nil
	case "scan":
		state, err := loadState(asked.Table, asked.At)
		if err != nil {
			return nil, err
		}
		rows, err := state.writeRows(asked.Columns, asked.Out)
		return map[string]any{"path": asked.Out, "num_rows": rows}, err
	}
	return nil, &Refusal{Category: "unsupported", Code: "operation", Message: "operation " + asked.Op}
}
