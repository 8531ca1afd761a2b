{{ config(
    materialized='external',
    plugin='delta_tables',
    delta_location='lake/orders',
    post_hook=after_commit("select validate_delta('lake/orders', 'rows')")
) }}

select 1 as id, 'pencil' as item, 0.9 as price
union all
select 2, 'paper', 4.5
