package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

const (
	vectorMagic = 1681511377
	z85Alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
	uuidLength  = 20
)

// keptRows returns the positions of the rows that a vector does not mark, or nil for all rows.
func (s *state) keptRows(vector *vector, rows int64) (arrow.Array, error) {
	if vector == nil {
		return nil, nil
	}
	data, err := s.readVector(vector)
	if err != nil {
		return nil, refuse("corrupt", "scan", "deletion vector: %v", err)
	}
	deleted, err := decodeBitmap(data)
	if err != nil {
		return nil, refuse("corrupt", "scan", "deletion vector: %v", err)
	}
	if int64(len(deleted)) != vector.Cardinality {
		return nil, refuse("corrupt", "scan", "deletion vector marks %d rows, expected %d", len(deleted), vector.Cardinality)
	}
	positions := array.NewInt64Builder(pool)
	for row := range rows {
		if !deleted[uint64(row)] {
			positions.Append(row)
		}
	}
	return positions.NewInt64Array(), nil
}

// readVector returns magic number and bitmap of a vector, from the log or from its file.
func (s *state) readVector(vector *vector) ([]byte, error) {
	if vector.StorageType == "i" {
		data, err := decodeZ85(vector.PathOrInlineDv)
		if err != nil || int64(len(data)) < vector.SizeInBytes {
			return nil, fmt.Errorf("inline vector of %d bytes, expected %d (%v)", len(data), vector.SizeInBytes, err)
		}
		return data[:vector.SizeInBytes], nil
	}
	name, err := s.resolveVector(vector)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	offset := int64(0)
	if vector.Offset != nil {
		offset = *vector.Offset
	}
	end := offset + 4 + vector.SizeInBytes
	if offset < 0 || end+4 > int64(len(content)) {
		return nil, fmt.Errorf("%s ends before byte %d", filepath.Base(name), end+4)
	}
	if crc32.ChecksumIEEE(content[offset+4:end]) != binary.BigEndian.Uint32(content[end:]) {
		return nil, fmt.Errorf("checksum of the entry at %d in %s", offset, filepath.Base(name))
	}
	if size := binary.BigEndian.Uint32(content[offset:]); int64(size) != vector.SizeInBytes {
		return nil, fmt.Errorf("entry of %d bytes, expected %d", size, vector.SizeInBytes)
	}
	return content[offset+4 : end], nil
}

func (s *state) resolveVector(vector *vector) (string, error) {
	text := vector.PathOrInlineDv
	if vector.StorageType == "p" {
		return s.resolve(text)
	}
	if vector.StorageType != "u" || len(text) < uuidLength {
		return "", fmt.Errorf("storage type %q with path %q", vector.StorageType, text)
	}
	prefix, encoded := text[:len(text)-uuidLength], text[len(text)-uuidLength:]
	id, err := decodeZ85(encoded)
	if err != nil {
		return "", err
	}
	uuid := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	return filepath.Join(s.table, prefix, "deletion_vector_"+uuid+".bin"), nil
}

func decodeZ85(text string) ([]byte, error) {
	if len(text)%5 != 0 {
		return nil, fmt.Errorf("%d characters are no Z85", len(text))
	}
	var found []byte
	for start := 0; start < len(text); start += 5 {
		word := uint64(0)
		for _, character := range text[start : start+5] {
			digit := strings.IndexRune(z85Alphabet, character)
			if digit < 0 {
				return nil, fmt.Errorf("%q is no character of Z85", character)
			}
			word = word*85 + uint64(digit)
		}
		found = binary.BigEndian.AppendUint32(found, uint32(word))
	}
	return found, nil
}

// decodeBitmap returns the rows of a 64-bit Roaring bitmap in the portable format, after the magic number.
func decodeBitmap(data []byte) (rows map[uint64]bool, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("the bitmap is truncated")
		}
	}()
	if magic := binary.LittleEndian.Uint32(data); magic != vectorMagic {
		return nil, fmt.Errorf("magic number %d", magic)
	}
	rows = map[uint64]bool{}
	buckets := binary.LittleEndian.Uint64(data[4:])
	data = data[12:]
	for range buckets {
		high := uint64(binary.LittleEndian.Uint32(data)) << 32
		if data, err = decodeBucket(data[4:], high, rows); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// decodeBucket adds the rows of a 32-bit Roaring bitmap, and returns the bytes after it.
func decodeBucket(data []byte, high uint64, rows map[uint64]bool) ([]byte, error) {
	const withoutRuns, withRuns, fewContainers = 12346, 12347, 4
	cookie := binary.LittleEndian.Uint32(data)
	data = data[4:]
	var count int
	var runs []byte
	switch {
	case cookie == withoutRuns:
		count = int(binary.LittleEndian.Uint32(data))
		data = data[4:]
	case cookie&0xffff == withRuns:
		count = int(cookie>>16) + 1
		runs, data = data[:(count+7)/8], data[(count+7)/8:]
	default:
		return nil, fmt.Errorf("cookie %d", cookie)
	}
	keys := data[:4*count]
	data = data[4*count:]
	if runs == nil || count >= fewContainers {
		data = data[4*count:] // offsets of the containers, which are in sequence
	}
	for container := range count {
		base := high | uint64(binary.LittleEndian.Uint16(keys[4*container:]))<<16
		cardinality := int(binary.LittleEndian.Uint16(keys[4*container+2:])) + 1
		switch {
		case runs != nil && runs[container/8]>>(container%8)&1 == 1:
			number := int(binary.LittleEndian.Uint16(data))
			data = data[2:]
			for range number {
				first, more := uint64(binary.LittleEndian.Uint16(data)), uint64(binary.LittleEndian.Uint16(data[2:]))
				for row := first; row <= first+more; row++ {
					rows[base|row] = true
				}
				data = data[4:]
			}
		case cardinality <= 4096:
			for range cardinality {
				rows[base|uint64(binary.LittleEndian.Uint16(data))] = true
				data = data[2:]
			}
		default:
			for row := range uint64(1 << 16) {
				if data[row/8]>>(row%8)&1 == 1 {
					rows[base|row] = true
				}
			}
			data = data[8192:]
		}
	}
	return data, nil
}
