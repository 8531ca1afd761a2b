package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

const (
	mappingProperty = "delta.columnMapping.mode"
	physicalName    = "delta.columnMapping.physicalName"
	columnID        = "delta.columnMapping.id"
)

// field is a column or a field of a struct, with the name and the id that it has in data files.
type field struct {
	name, physical string
	id             string // empty without column mapping by id
	kind           kind
}

// kind is a Delta type: a struct with fields, an array with one child, a map with two, or a primitive type.
type kind struct {
	name     string
	children []field
	arrow    arrow.DataType
}

func parseSchema(text, mode string) ([]field, error) {
	var schema any
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		return nil, refuse("corrupt", "snapshot", "schemaString: %v", err)
	}
	found, err := parseKind(schema, mode)
	return found.children, err
}

func parseKind(value any, mode string) (kind, error) {
	if name, ok := value.(string); ok {
		return parsePrimitive(name)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return kind{}, refuse("corrupt", "snapshot", "the type %v is no object", value)
	}
	found := kind{name: fmt.Sprint(object["type"])}
	inner := func(key, name string) error {
		child, err := parseKind(object[key], mode)
		found.children = append(found.children, field{name: name, physical: name, kind: child})
		return err
	}
	switch found.name {
	case "struct":
		fields, _ := object["fields"].([]any)
		members := []arrow.Field{}
		for _, each := range fields {
			member, err := parseField(each, mode)
			if err != nil {
				return found, err
			}
			found.children = append(found.children, member)
			members = append(members, arrow.Field{Name: member.name, Type: member.kind.arrow, Nullable: true})
		}
		found.arrow = arrow.StructOf(members...)
		return found, nil
	case "array":
		err := inner("elementType", "element")
		if err == nil {
			found.arrow = arrow.ListOf(found.children[0].kind.arrow)
		}
		return found, err
	case "map":
		if err := inner("keyType", "key"); err != nil {
			return found, err
		}
		err := inner("valueType", "value")
		if err == nil {
			found.arrow = arrow.MapOf(found.children[0].kind.arrow, found.children[1].kind.arrow)
		}
		return found, err
	}
	return found, refuse("unsupported", "snapshot", "type %s", found.name)
}

func parseField(value any, mode string) (field, error) {
	object, _ := value.(map[string]any)
	name, _ := object["name"].(string)
	found := field{name: name, physical: name}
	more, _ := object["metadata"].(map[string]any)
	if text, ok := more[physicalName].(string); ok && mode != "" {
		found.physical = text
	}
	if id, ok := more[columnID].(float64); ok && mode == "id" {
		found.id = fmt.Sprint(int64(id))
	}
	var err error
	found.kind, err = parseKind(object["type"], mode)
	return found, err
}

func parsePrimitive(name string) (kind, error) {
	if strings.HasPrefix(name, "decimal(") {
		var precision, scale int32
		if _, err := fmt.Sscanf(strings.ReplaceAll(name, " ", ""), "decimal(%d,%d)", &precision, &scale); err != nil {
			return kind{}, refuse("corrupt", "snapshot", "type %s", name)
		}
		return kind{name: name, arrow: &arrow.Decimal128Type{Precision: precision, Scale: scale}}, nil
	}
	types := map[string]arrow.DataType{
		"string": arrow.BinaryTypes.String, "binary": arrow.BinaryTypes.Binary, "boolean": arrow.FixedWidthTypes.Boolean,
		"long": arrow.PrimitiveTypes.Int64, "integer": arrow.PrimitiveTypes.Int32, "short": arrow.PrimitiveTypes.Int16,
		"byte": arrow.PrimitiveTypes.Int8, "float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64,
		"date": arrow.FixedWidthTypes.Date32, "timestamp": arrow.FixedWidthTypes.Timestamp_us,
		"timestamp_ntz": &arrow.TimestampType{Unit: arrow.Microsecond}, "void": arrow.Null,
	}
	found, ok := types[name]
	if !ok {
		return kind{}, refuse("unsupported", "snapshot", "type %s", name)
	}
	return kind{name: name, arrow: found}, nil
}

// mode returns the column mapping mode; it applies only if the protocol supports column mapping.
func (s *state) mode() string {
	supported := s.protocol.MinReaderVersion == 2 || slices.Contains(s.protocol.ReaderFeatures, "columnMapping")
	mode := s.metadata.Configuration[mappingProperty]
	if !supported || mode == nil || *mode == "none" {
		return ""
	}
	return *mode
}
