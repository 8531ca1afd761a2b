package main

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	parquet "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

const fieldIDKey = "PARQUET:field_id"

var pool = memory.NewGoAllocator()

// readParquet returns the columns of a file, each as one array, and the number of rows.
func readParquet(name string) (*arrow.Schema, []arrow.Array, int64, error) {
	source, err := parquet.OpenParquetFile(name, false)
	if err != nil {
		return nil, nil, 0, err
	}
	defer source.Close()
	reader, err := pqarrow.NewFileReader(source, pqarrow.ArrowReadProperties{}, pool)
	if err != nil {
		return nil, nil, 0, err
	}
	table, err := reader.ReadTable(context.Background())
	if err != nil {
		return nil, nil, 0, err
	}
	columns := []arrow.Array{}
	for position := range int(table.NumCols()) {
		chunks := table.Column(position).Data().Chunks()
		if len(chunks) == 0 {
			columns = append(columns, array.MakeArrayOfNull(pool, table.Schema().Field(position).Type, 0))
			continue
		}
		column, err := array.Concatenate(chunks, pool)
		if err != nil {
			return nil, nil, 0, err
		}
		columns = append(columns, column)
	}
	return table.Schema(), columns, source.NumRows(), nil
}

// readCheckpoint returns the actions of a file of a checkpoint: each row becomes the line of a commit.
func readCheckpoint(name string) ([]action, error) {
	schema, columns, rows, err := readParquet(name)
	if err != nil {
		return nil, err
	}
	known := []string{"add", "remove", "protocol", "metaData", "txn", "domainMetadata"}
	var actions []action
	for row := range int(rows) {
		line := map[string]any{}
		for position, column := range columns {
			if slices.Contains(known, schema.Field(position).Name) && column.IsValid(row) {
				line[schema.Field(position).Name] = column.GetOneForMarshal(row)
			}
		}
		text, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		var found action
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, err
		}
		actions = append(actions, found)
	}
	return actions, nil
}

// writeRows writes the rows of a version as an Arrow IPC file and returns their number.
func (s *state) writeRows(columns *[][]string, out string) (int64, error) {
	fields, err := parseSchema(s.metadata.SchemaString, s.mode())
	if err != nil {
		return 0, err
	}
	selected := [][]string{}
	for _, each := range fields {
		selected = append(selected, []string{each.name})
	}
	if columns != nil {
		selected = *columns
	}
	var schema *arrow.Schema
	var batches []arrow.RecordBatch
	total := int64(0)
	for _, path := range s.sortedPaths() {
		batch, err := s.readFile(s.live[path], fields)
		if err != nil {
			return 0, err
		}
		total += batch.NumRows()
		if batch, err = project(batch, selected); err != nil {
			return 0, err
		}
		schema, batches = batch.Schema(), append(batches, batch)
	}
	if schema == nil {
		empty, err := project(emptyBatch(fields), selected)
		if err != nil {
			return 0, err
		}
		schema = empty.Schema()
	}
	return total, writeArrow(out, schema, batches)
}

func (s *state) sortedPaths() []string {
	var found []string
	for path := range s.live {
		found = append(found, path)
	}
	slices.Sort(found)
	return found
}

func emptyBatch(fields []field) arrow.RecordBatch {
	schema := arrowSchema(fields)
	columns := []arrow.Array{}
	for _, each := range schema.Fields() {
		columns = append(columns, array.MakeArrayOfNull(pool, each.Type, 0))
	}
	return array.NewRecordBatch(schema, columns, 0)
}

func arrowSchema(fields []field) *arrow.Schema {
	members := []arrow.Field{}
	for _, each := range fields {
		members = append(members, arrow.Field{Name: each.name, Type: each.kind.arrow, Nullable: true})
	}
	return arrow.NewSchema(members, nil)
}

// project returns the selected columns; fields of structs are named by their path, joined by dots.
func project(batch arrow.RecordBatch, selected [][]string) (arrow.RecordBatch, error) {
	members, columns := []arrow.Field{}, []arrow.Array{}
	for _, path := range selected {
		positions := batch.Schema().FieldIndices(path[0])
		if len(positions) == 0 {
			return nil, refuse("invalid-request", "scan", "no column %s", path[0])
		}
		column := batch.Column(positions[0])
		for _, name := range path[1:] {
			parent, ok := column.(*array.Struct)
			if !ok {
				return nil, refuse("invalid-request", "scan", "no field %s", strings.Join(path, "."))
			}
			position, _ := parent.DataType().(*arrow.StructType).FieldIdx(name)
			child, err := maskNulls(parent.Field(position), parent)
			if err != nil {
				return nil, err
			}
			column = child
		}
		members = append(members, arrow.Field{Name: strings.Join(path, "."), Type: column.DataType(), Nullable: true})
		columns = append(columns, column)
	}
	return array.NewRecordBatch(arrow.NewSchema(members, nil), columns, batch.NumRows()), nil
}

// maskNulls returns a field of a struct that is null where the struct is null.
func maskNulls(child arrow.Array, parent *array.Struct) (arrow.Array, error) {
	positions := array.NewInt64Builder(pool)
	for row := range parent.Len() {
		if parent.IsNull(row) {
			positions.AppendNull()
		} else {
			positions.Append(int64(row))
		}
	}
	return compute.TakeArray(context.Background(), child, positions.NewInt64Array())
}

func writeArrow(out string, schema *arrow.Schema, batches []arrow.RecordBatch) error {
	target, err := os.Create(out)
	if err != nil {
		return err
	}
	defer target.Close()
	writer, err := ipc.NewFileWriter(target, ipc.WithSchema(schema))
	if err != nil {
		return err
	}
	for _, batch := range batches {
		if err := writer.Write(batch); err != nil {
			return err
		}
	}
	return writer.Close()
}

// readFile returns the rows of a data file with all columns of the table, without the rows that its vector marks.
func (s *state) readFile(live *file, fields []field) (arrow.RecordBatch, error) {
	name, err := s.resolve(live.Path)
	if err != nil {
		return nil, err
	}
	stored, columns, rows, err := readParquet(name)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, refuse("corrupt", "scan", "%s is missing", live.Path)
		}
		return nil, refuse("corrupt", "scan", "%s: %v", live.Path, err)
	}
	converted := []arrow.Array{}
	for _, each := range fields {
		column, err := s.readColumn(each, live, stored, columns, int(rows))
		if err != nil {
			return nil, err
		}
		converted = append(converted, column)
	}
	kept, err := s.keptRows(live.DeletionVector, rows)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		for position, column := range converted {
			if converted[position], err = compute.TakeArray(context.Background(), column, kept); err != nil {
				return nil, err
			}
		}
		rows = int64(kept.Len())
	}
	return array.NewRecordBatch(arrowSchema(fields), converted, rows), nil
}

// resolve returns the path of a file of the log, which is an encoded URI.
func (s *state) resolve(path string) (string, error) {
	plain, err := url.PathUnescape(strings.TrimPrefix(path, "file:"))
	if err != nil {
		return "", refuse("corrupt", "scan", "%s: %v", path, err)
	}
	if strings.HasPrefix(plain, "/") {
		return filepath.Clean("/" + strings.TrimLeft(plain, "/")), nil
	}
	return filepath.Join(s.table, plain), nil
}

func (s *state) readColumn(
	wanted field, live *file, stored *arrow.Schema, columns []arrow.Array, rows int,
) (arrow.Array, error) {
	if slices.Contains(s.metadata.PartitionColumns, wanted.name) {
		return repeatPartitionValue(live.PartitionValues[wanted.physical], wanted.kind, rows)
	}
	position := findField(wanted, stored.Fields())
	if position < 0 {
		return array.MakeArrayOfNull(pool, wanted.kind.arrow, rows), nil
	}
	return convert(columns[position], wanted.kind)
}

// findField returns the position of a field in a file: by id in mode id, otherwise by name.
func findField(wanted field, stored []arrow.Field) int {
	return slices.IndexFunc(stored, func(each arrow.Field) bool {
		if wanted.id == "" {
			return each.Name == wanted.physical
		}
		id, _ := each.Metadata.GetValue(fieldIDKey)
		return id == wanted.id
	})
}

// convert returns an array with the type of the table; fields that the file does not have are null.
func convert(stored arrow.Array, wanted kind) (arrow.Array, error) {
	if wanted.name == "void" {
		return array.MakeArrayOfNull(pool, wanted.arrow, stored.Len()), nil
	}
	children := []arrow.ArrayData{}
	add := func(child arrow.Array, position int) error {
		found, err := convert(child, wanted.children[position].kind)
		if err == nil {
			children = append(children, found.Data())
		}
		return err
	}
	switch source := stored.(type) {
	case *array.Struct:
		for position, each := range wanted.children {
			index := findField(each, source.DataType().(*arrow.StructType).Fields())
			if index < 0 {
				children = append(children, array.MakeArrayOfNull(pool, each.kind.arrow, stored.Len()).Data())
			} else if err := add(source.Field(index), position); err != nil {
				return nil, err
			}
		}
	case *array.Map:
		entries := []arrow.ArrayData{}
		for position, each := range []arrow.Array{source.Keys(), source.Items()} {
			found, err := convert(each, wanted.children[position].kind)
			if err != nil {
				return nil, err
			}
			entries = append(entries, found.Data())
		}
		element := wanted.arrow.(*arrow.MapType).Elem()
		children = append(children, array.NewData(element, source.Keys().Len(), []*memory.Buffer{nil}, entries, 0, 0))
	case *array.List:
		if err := add(source.ListValues(), 0); err != nil {
			return nil, err
		}
	default:
		return compute.CastArray(context.Background(), stored, compute.SafeCastOptions(wanted.arrow))
	}
	data := stored.Data()
	return array.MakeFromData(
		array.NewData(wanted.arrow, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())), nil
}
