import { expect, it } from '@jest/globals';
import { nearestNames } from './nearest-names.js';

const NAMES = ['create_issue', 'create_issues', 'close_issue', 'listFiles', 'wire_transfer', 'x', '__'];

it.each([
  ['creat_issue', ['create_issue', 'create_issues']],
  ['create-issue', ['create_issue', 'create_issues']],
  ['CreateIssue', ['create_issue', 'create_issues']],
  ['craete_issue', ['create_issue', 'create_issues']],
  ['list_files', ['listFiles']],
  ['transfer', ['wire_transfer']],
  ['zzz', []],
  ['', []],
  ['x'.repeat(300), []],
])('who typed %s may have meant %j', (typed, meant) => {
  expect(nearestNames(typed, NAMES)).toEqual(meant);
});
