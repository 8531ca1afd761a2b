//! Columns to read: complete columns, or fields of nested columns.

use std::sync::Arc;

use delta_kernel::expressions::{ColumnName, Expression};
use delta_kernel::schema::{DataType, MetadataColumnSpec, SchemaRef, StructField, StructType};
use delta_kernel::{Engine, EngineData, KernelResult};

use crate::errors::Refusal;

pub struct Projection {
    /// Schema that the kernel reads; structs have only the requested fields.
    pub read_schema: SchemaRef,
    /// Schema of the answer; a nested field is a column whose name is its path, joined by dots.
    pub answer_schema: SchemaRef,
    /// Paths of the answer's columns; None if the answer has the rows as they are read.
    paths: Option<Vec<ColumnName>>,
}

impl Projection {
    /// Select columns by their paths; None selects all.
    pub fn new(table: &StructType, columns: Option<&[Vec<String>]>, row_ids: bool) -> Result<Self, Refusal> {
        let row_ids = if row_ids { row_id_columns() } else { vec![] };
        let Some(columns) = columns else {
            let schema = Arc::new(table.add(row_ids).map_err(invalid)?);
            return Ok(Self { read_schema: schema.clone(), answer_schema: schema, paths: None });
        };
        let borrowed: Vec<&[String]> = columns.iter().map(Vec::as_slice).collect();
        let read_schema = select_fields(table, &borrowed).and_then(|schema| schema.add(row_ids.clone()));
        let answer_schema: KernelResult<Vec<_>> = columns.iter().map(|path| answer_field(table, path)).collect();
        let nested = columns.iter().any(|path| path.len() > 1);
        let names = columns.iter().cloned().chain(row_ids.iter().map(|field| vec![field.name.clone()]));
        Ok(Self {
            read_schema: Arc::new(read_schema.map_err(invalid)?),
            answer_schema: Arc::new(
                answer_schema.and_then(|fields| StructType::try_new(fields)?.add(row_ids.clone())).map_err(invalid)?,
            ),
            paths: nested.then(|| names.map(ColumnName::new).collect()),
        })
    }

    /// Return rows of the answer, of rows that the kernel read.
    pub fn select(&self, engine: &dyn Engine, rows: Box<dyn EngineData>) -> KernelResult<Box<dyn EngineData>> {
        let Some(paths) = &self.paths else {
            return Ok(rows);
        };
        let columns = Expression::struct_from(paths.iter().cloned().map(Expression::Column));
        let answer_type = self.answer_schema.as_ref().clone().into();
        engine
            .evaluation_handler()
            .new_expression_evaluator(self.read_schema.clone(), Arc::new(columns), answer_type)?
            .evaluate(rows.as_ref())
    }
}

fn row_id_columns() -> Vec<StructField> {
    let columns =
        [("__row_id", MetadataColumnSpec::RowId), ("__row_commit_version", MetadataColumnSpec::RowCommitVersion)];
    columns.map(|(name, spec)| StructField::create_metadata_column(name, spec)).to_vec()
}

/// Return the struct with only the fields at the paths, in the order of the paths.
fn select_fields(schema: &StructType, paths: &[&[String]]) -> KernelResult<StructType> {
    let mut fields: Vec<StructField> = vec![];
    for path in paths {
        let field = schema.field_at(&ColumnName::new(&path[..1]))?;
        if fields.iter().any(|selected| selected.name == field.name) {
            continue;
        }
        let inner: Vec<&[String]> = paths.iter().filter(|other| other[0] == path[0]).map(|other| &other[1..]).collect();
        fields.push(match &field.data_type {
            DataType::Struct(nested) if inner.iter().all(|rest| !rest.is_empty()) => {
                StructField { data_type: select_fields(nested, &inner)?.into(), ..field.clone() }
            }
            _ => field.clone(),
        });
    }
    StructType::try_new(fields)
}

/// Return the field of the answer; a nested field is nullable because a struct around it may be null.
fn answer_field(schema: &StructType, path: &[String]) -> KernelResult<StructField> {
    let field = schema.field_at(&ColumnName::new(path))?;
    Ok(StructField { name: path.join("."), nullable: field.nullable || path.len() > 1, ..field.clone() })
}

fn invalid(error: delta_kernel::KernelError) -> Refusal {
    Refusal::invalid_request(error.to_string())
}
