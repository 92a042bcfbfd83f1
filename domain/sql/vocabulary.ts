import { words } from '../text.js';

/** Words that start a statement in some dialect. Only a text that starts with one of them goes to the parser. */
export const STATEMENT_WORDS = words(
  `abort alter analyse analyze attach backup begin bulk call checkpoint close cluster comment commit copy create dbcc deallocate
  declare delete deny desc describe detach disable discard do drop enable end exec execute explain export fetch flush go grant handler
  if import insert install kill listen load lock merge move msck notify optimize pragma prepare print purge put reassign reconfigure refresh
  reindex release rename repair replace reset restore resume revoke rollback savepoint security select set show shutdown start suspend
  system table truncate uncache undrop unlisten unload unlock update upsert use vacuum values waitfor while with`,
);

/** Words of a change. When Postgres reads a text as a read, these are what another database may run. */
export const CHANGING_WORDS = words(
  `alter attach backup bulk call create dbcc delete deny drop dumpfile exec execute grant insert into kill load_file merge
  opendatasource openquery openrowset outfile reconfigure restore revoke shutdown truncate update`,
);

/** Action words of query languages other than SQL: `deleteMany`, `FLUSHALL`, `HSET`, `$out`, `mutation`. */
export const ACTION_WORDS = words(
  `add alter append apply batchwriteitem bgrewriteaof bgsave bitfield bitop blmove blmpop blpop brpop brpoplpush bulkwrite bzmpop
  bzpopmax bzpopmin call cas clear copy create createcollection createindex createindexes createrole createuser debug decr decrby del
  delete deleteitem deletemany deleteone detach drop dropcollection dropdatabase dropindex dropindexes dropuser eval evalsha exec
  execute expire expireat failover fcall findandmodify findoneanddelete findoneandreplace findoneandupdate flush flushall flushdb geoadd
  geosearchstore getdel getex getset grant grantprivilegestorole grantrolestouser hdel hexpire hincrby hincrbyfloat hmset hset hsetex
  hsetnx import incr incrby incrbyfloat index ingest insert insertmany insertone install kill linsert lmove lmpop load lpop lpush lpushx
  lrem lset ltrim mapreduce merge migrate move mset msetnx mutate mutation out patch persist pexpire pexpireat pfadd pfmerge pop psetex
  publish purge push put putitem reindex remove rename renamecollection renamenx replace replaceone replicaof reset restore revoke
  revokerolesfromuser rpop rpoplpush rpush rpushx run sadd save script sdiffstore set setbit setex setnx setrange shutdown sinterstore
  slaveof smove spop srem sunionstore swapdb touch truncate unlink unset update updateitem updatemany updateone updateuser upsert wipe
  write xack xadd xautoclaim xclaim xdel xgroup xreadgroup xsetid xtrim zadd zdiffstore zincrby zinterstore zmpop zpopmax zpopmin
  zrangestore zrem zremrangebylex zremrangebyrank zremrangebyscore zunionstore`,
);

/** Second words of statements that affect the connection, where English has no such phrase: SET ROLE, LOCK TABLE, VACUUM FULL. */
export const SESSION_WORDS = words(
  'analyze authorization characteristics constraints freeze full global local role session table transaction verbose',
);

/** Kinds of objects that can be created, altered and dropped. */
export const OBJECT_WORDS = words(
  `aggregate availability cast catalog collation column constraint conversion credential database dictionary directory domain event
  extension foreign function group index keyspace language library login materialized object operator owned package partition policy
  procedure profile projection publication role routine rule schema sequence server share snapshot stage statistics stream subscription
  synonym table tables tablespace task text transform trigger type user view warehouse`,
);

/** Words between CREATE, ALTER or DROP and the kind of object. */
export const MODIFIERS = words(
  `or replace temp temporary global local unlogged unique external concurrently recursive public force bitmap clustered nonclustered
  virtual fulltext spatial transient secure dynamic hybrid foreign shared if not exists only`,
);

/** English words in the position of a name in SQL: no table is called "the". */
export const DETERMINERS = words(
  `a an the this that these those my your his her its our their any some every each both either neither me you him us them it
  what which whose what's whatever whichever more most many much few several such another other own`,
);

/**
 * Functions of Postgres, MySQL, SQLite and Transact-SQL that only compute or look, and do not touch files, other servers, sessions or
 * sequences. A function that is not listed may do anything.
 */
export const HARMLESS_FUNCTIONS = words(
  `abs acos age array_agg array_append array_cat array_dims array_length array_lower array_ndims array_position array_positions
  array_prepend array_remove array_replace array_to_json array_to_string array_upper ascii asin atan atan2 avg bit_and bit_length bit_or
  bit_xor bool_and bool_or btrim cardinality cast cbrt ceil ceiling char char_length character_length charindex chr clock_timestamp coalesce
  col_description concat concat_ws convert corr cos cot count covar_pop covar_samp cume_dist curdate current_catalog current_database
  current_date current_schema current_schemas current_time current_timestamp current_user curtime date date_add date_bin date_diff
  date_format date_part date_sub date_trunc dateadd datediff datename datepart datetime day dayname dayofmonth dayofweek dayofyear decode
  degrees dense_rank div encode every exp extract factorial find_in_set first_value floor format format_type from_unixtime gcd
  gen_random_uuid generate_series generate_subscripts get_bit get_byte getdate getutcdate greatest group_concat grouping
  has_column_privilege has_database_privilege has_schema_privilege has_table_privilege hex hour hypot if ifnull iif initcap instr isfinite
  isnull json_agg json_array json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each
  json_each_text json_extract json_extract_path json_extract_path_text json_group_array json_group_object json_object json_object_agg
  json_object_keys json_populate_record json_populate_recordset json_query json_strip_nulls json_to_record json_to_recordset json_type
  json_typeof json_unquote json_valid json_value jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length
  jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object
  jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first
  jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof julianday justify_days justify_hours
  justify_interval lag last_day last_value lcase lcm lead least left len length ln localtime localtimestamp locate log log10 log2 lower
  lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz max md5 mid min minute mod mode month monthname newid now
  nth_value ntile nullif num_nonnulls num_nulls nvl obj_description octet_length overlay parse_ident patindex percent_rank percentile_cont
  percentile_disc pg_column_size pg_database_size pg_encoding_to_char pg_get_constraintdef pg_get_expr pg_get_function_arguments
  pg_get_function_identity_arguments pg_get_function_result pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_partkeydef
  pg_get_ruledef pg_get_serial_sequence pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_indexes_size pg_is_in_recovery
  pg_postmaster_start_time pg_relation_size pg_size_bytes pg_size_pretty pg_table_is_visible pg_table_size pg_tablespace_size
  pg_total_relation_size pg_type_is_visible pg_typeof phraseto_tsquery pi plainto_tsquery position power printf quarter quote quote_ident
  quote_literal quote_nullable radians rand random range_agg rank regexp_count regexp_instr regexp_like regexp_match regexp_matches
  regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_intercept regr_slope repeat replace replicate reverse right
  round row_number row_to_json rpad rtrim scale second session_user sha224 sha256 sha384 sha512 shobj_description sign similarity
  sin space split_part sqrt starts_with statement_timestamp stddev stddev_pop stddev_samp str str_to_date strftime string_agg
  string_to_array string_to_table strpos stuff subdate substr substring substring_index sum sysdate tan time timediff timeofday timestamp
  timestampadd timestampdiff to_ascii to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector total translate
  trim trim_array trim_scale trunc ts_headline ts_rank ts_rank_cd typeof ucase unhex unicode unistr unix_timestamp unnest upper user utc_date
  utc_timestamp uuid var_pop var_samp variance version websearch_to_tsquery week weekday width_bucket word_similarity xmlagg xmlserialize
  year yearweek`,
);

/** Names of arguments that contain a part of a statement: a condition, columns, an order. */
export const CLAUSE_ARGUMENTS = words(
  `columns condition conditions from_clause group_by groupby having join joins order order_by orderby predicate predicates returning
  select select_list sort_by where where_clause where_condition`,
);

const ACTING_FUNCTIONS = words(
  `cursor_to_xml database_to_xml dbms_lock extractvalue get_lock load_extension load_file nextval query_to_json query_to_xml
  release_all_locks release_lock schema_to_xml set_config setval sys_eval sys_exec table_to_xml txid_current updatexml utl_http writefile`,
);

/** Functions that touch files, other servers, sessions or sequences, or run a text as SQL; none has the name of a word. */
export const isActingFunction = (name: string): boolean =>
  ACTING_FUNCTIONS.has(name) ||
  (/^(?:pg|lo|dblink|xp|sp)_[a-z]/.test(name) && !HARMLESS_FUNCTIONS.has(name)) ||
  name === 'dblink';
