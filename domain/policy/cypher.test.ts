import { describe, expect, it } from '@jest/globals';
import { growthFault } from '../../test/support/expressions.js';
import { graphAct } from './cypher.js';

describe('what a text of Cypher does', () => {
  it.each([
    'MATCH (n) DETACH DELETE n',
    'match (n:Person {name: "x"}) detach delete n',
    'MATCH (n)-[r:KNOWS]->() DELETE r, n',
    'MATCH (n) FOREACH (x IN [n] | DETACH DELETE x)',
    'MATCH (n) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS',
    'MATCH (n) SET n.seen = true WITH n DELETE n',
    'MATCH (n) /* only a look */ DELETE n // "',
  ])('removes: %s', (text) => expect(graphAct(text)).toBe('graph_removal'));

  it.each([
    'MATCH (n) SET n.admin = true',
    'MATCH (n:User) SET n += {admin: true} RETURN n',
    'MATCH (n) SET n:Admin',
    'MATCH (n) REMOVE n.password',
    'MATCH (n) REMOVE n:User',
    'MERGE (n:User {id: 7})',
    'MERGE (n:User {id: 7}) ON MATCH SET n.seen = 1',
    'CREATE (:User {id: 7})',
    'CREATE (n)',
    'MATCH (a), (b) CREATE (a)-[:KNOWS]->(b)',
    'MATCH p = (a)-->(b) MERGE (a)-[:NEAR]->(b)',
    'MATCH (n) SET (n).admin = true',
    'UNWIND [1,2] AS x MERGE (n:N {x: x})',
    'MATCH (`a b`) SET `a b`.c = 1',
  ])('changes: %s', (text) => expect(graphAct(text)).toBe('graph_change'));

  it.each([
    'MATCH (n) RETURN n LIMIT 5',
    'MATCH (n:Delete {set: "delete n"}) RETURN n.set, n.delete',
    "MATCH (n) WHERE n.text CONTAINS 'SET n.x = 1' RETURN n",
    'MATCH (n) // DELETE n\nRETURN n',
    'MATCH (n) RETURN count(n) AS set',
    'how do I match (and then delete) a node?',
    'match (the pattern) and set a limit',
    'create (new) users with a form',
    'how to merge (or rebase) branches',
    'DELETE FROM users WHERE (id = 1)',
    'UPDATE t SET a = (1)',
    'CREATE TABLE t (a int)',
    'MERGE INTO t USING s ON (t.id = s.id)',
    'set(x) and match(y)',
  ])('neither: %s', (text) => expect(graphAct(text)).toBeNull());

  it.each(['MATCH (', 'match (n) ', 'delete ', '/*', '"', '`', '*/ /*', 'set n', 'create ('])(
    '%j, repeated, costs what its length costs',
    (unit) => {
      const reading = (length: number) => {
        const text = unit.repeat(length);
        return () => void graphAct(text);
      };
      expect(growthFault(reading, 8_000)).toBeNull();
    },
  );
});
