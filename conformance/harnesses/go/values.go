package main

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// repeatPartitionValue returns a column with the value of a partition; the empty text is null for every type.
func repeatPartitionValue(text *string, wanted kind, rows int) (arrow.Array, error) {
	if text == nil || *text == "" || wanted.name == "void" {
		return array.MakeArrayOfNull(pool, wanted.arrow, rows), nil
	}
	var value scalar.Scalar
	var err error
	switch wanted.name {
	case "string":
		value = scalar.NewStringScalar(*text)
	case "binary":
		value = scalar.NewBinaryScalar(memory.NewBufferBytes([]byte(*text)), wanted.arrow)
	case "timestamp", "timestamp_ntz":
		var moment time.Time
		moment, err = parseTimestamp(*text)
		value = scalar.NewTimestampScalar(arrow.Timestamp(moment.UnixMicro()), wanted.arrow)
	default:
		value, err = scalar.ParseScalar(wanted.arrow, *text)
	}
	if err != nil {
		return nil, refuse("corrupt", "scan", "partition value %q of type %s: %v", *text, wanted.name, err)
	}
	column, err := scalar.MakeArrayFromScalar(value, rows, pool)
	if err != nil || arrow.TypeEqual(column.DataType(), wanted.arrow) {
		return column, err
	}
	return compute.CastArray(context.Background(), column, compute.SafeCastOptions(wanted.arrow))
}

// parseTimestamp accepts the forms of the protocol; a timestamp without a zone counts as UTC.
func parseTimestamp(text string) (moment time.Time, err error) {
	layouts := []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02"}
	for _, layout := range layouts {
		if moment, err = time.Parse(layout, text); err == nil {
			return moment, nil
		}
	}
	return moment, err
}
