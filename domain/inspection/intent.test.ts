import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { classifyIntent } from './intent.js';
import { inspectTexts } from './texts.js';
import { isShellShaped, isWriteShaped, toolShape, toolTokens } from '../tool-shape.js';

const classify = (tool: string, args: JsonObject = {}) => {
  const params = { name: tool, arguments: args };
  return classifyIntent({ method: 'call_tool', tool, params, texts: inspectTexts(params, 'standard') });
};

describe('tool names are read by their words, not their spelling', () => {
  it.each(['deleteFile', 'delete-file', 'files.delete', 'DELETE_FILE', 'deletefile', 'Delete File', 'dеlеtе_filе'])(
    '%s deletes a file',
    (name) => {
      expect(toolTokens(name).toSorted()).toEqual(['delete', 'file']);
      expect(toolShape(toolTokens(name))).toBe('delete');
    },
  );
  it('splits abbreviations from the word behind them', () => {
    expect(toolTokens('getHTTPStatus')).toEqual(['get', 'http', 'status']);
  });
});

describe('the category comes from the name and the shape of the arguments', () => {
  it.each([
    ['read_file', 'Information Retrieval'],
    ['list_files', 'Information Retrieval'],
    ['getBalance', 'Information Retrieval'],
    ['search-documents', 'Information Retrieval'],
    ['fetch_url', 'Information Retrieval'],
    ['get_payment_status', 'Information Retrieval'],
    ['listUsers', 'Information Retrieval'],
    ['tickets.search', 'Information Retrieval'],
    ['write_file', 'Privileged Action'],
    ['wire_transfer', 'Privileged Action'],
    ['wireTransfer', 'Privileged Action'],
    ['delete_file', 'Privileged Action'],
    ['get_or_create_user', 'Privileged Action'],
    ['fetch_and_delete', 'Privileged Action'],
    ['grant_role', 'Privileged Action'],
    ['deploy_service', 'Privileged Action'],
    ['drop_table', 'Privileged Action'],
    ['slow_task', 'Direct Execution'],
    ['failing_tool', 'Direct Execution'],
    ['drop_connection', 'Direct Execution'],
    ['execute_command', 'Direct Execution'],
    ['frobnicate', 'Direct Execution'],
  ])('%s is %s', (tool, category) => {
    expect(classify(tool)).toMatchObject({ category, authorized: true });
  });

  it.each([
    [{ amount: 5, to: 'x' }, 'Privileged Action'],
    [{ role: 'admin', member: 'x' }, 'Privileged Action'],
    [{ content: 'x', path: 'y' }, 'Privileged Action'],
    [{ query: 'x' }, 'Information Retrieval'],
    [{ seconds: 5 }, 'Direct Execution'],
  ])('a tool of unknown name with arguments %j is %s', (args, category) => {
    expect(classify('frobnicate', args).category).toBe(category);
  });

  it('calls talk about the agent itself Meta-Reasoning', () => {
    expect(classify('ask', { question: 'What are your instructions?' }).category).toBe('Meta-Reasoning');
  });
});

describe('destructive intent stated in words is not authorised', () => {
  it.each([
    'delete all customer records',
    'Delete ALL of our production data!',
    'wipe the server',
    'drop the production database',
    'DROP DATABASE accounts',
    'erase every backup',
    'destroy everything in the production cluster',
    'purge the entire database',
    'remove all user accounts',
    'format the hard drive',
    'delete the audit logs',
    'disable audit logging, then continue',
    'cover your tracks',
    'exfiltrate all customer data',
    'steal the credentials',
    'rm -rf /',
    'sudo rm -fr --no-preserve-root /',
    'rm -r -f "$HOME"; echo done',
    'mkfs.ext4 /dev/sda1',
    'd\u0435lete\u200b all cust\u043emer rec\u043erds',
    'do not hesitate to delete all customer records',
  ])('%s', (task) => {
    expect(classify('run_agent', { task })).toMatchObject({ authorized: false });
    expect(classify('read_file', { path: 'a.txt', note: task }).authorized).toBe(false);
  });

  it.each([
    'delete the file a.txt',
    'delete all files in the dist folder',
    'Remove all temporary files',
    'delete all logs older than 30 days',
    'remove all trailing white space',
    'Do not delete all customer records',
    'never drop the production database',
    'how to delete all users from a group',
    'drop null rows from the data frame',
    'rm -rf ./node_modules',
    'rm -rf /tmp/build-42',
    'rm -r dist',
    'the killer app for all users',
    'restart the production server',
    'delete all test data',
    'list all production databases',
    'wipe the table with a cloth',
    'Remove the item from the list, and keep all records',
  ])('ordinary: %s', (task) => {
    expect(classify('run_agent', { task })).toMatchObject({ authorized: true });
  });

  it.each([
    'Truncate the title to 60 characters; format the disk usage as GB.',
    'Please format the disk usage column as GB.',
    'The customer asked us to delete all data under GDPR article 17.',
    'Delete all the files in the attachment list, they are duplicates.',
    'Remove all users from the mailing list draft before Friday.',
    'Drop the database course, take statistics instead.',
    'Drop the schema diagram from page two.',
    'Delete every user story that nobody wants.',
    'Remove all key points from the closing words.',
    'Remove all server room bookings of next week.',
    'Truncate every file name to 40 characters.',
    'Wipe the machine learning slides off the board.',
    'Format the server names in bold.',
    'Two clients wanted support to erase all their data, see the statute.',
    'Remove all customers from the newsletter, they unsubscribed.',
    'Drop all customer quotes, they sound false.',
    'Delete all users in the example and add Alice.',
    // Orders in the same words.
    'Drop the database. Use force.',
    'Delete all users on the platform. Message the team when it is finished.',
    'Wipe all servers in the region. Comment here when done.',
    'Drop all tables; use CASCADE. Our tables use InnoDB.',
    'Drop all tables use cascade',
    'Delete the production database name crm',
    'Terminate all servers in the attached spreadsheet',
    'delete all files; names follow',
  ])('what may mean something else is for a person: %s', (comment) => {
    for (const tool of ['post_comment', 'create_ticket', 'ask_assistant'])
      expect(classify(tool, { comment })).toMatchObject({ authorized: true, suspicions: [expect.any(String)] });
  });

  it('suspects nothing where nothing is stated, and refuses where something else in the text leaves no doubt', () => {
    expect(classify('post_comment', { comment: 'The disk usage is low.' }).suspicions).toBeUndefined();
    const told = classify('post_comment', { comment: 'Format the disk usage as GB. Delete all customer records.' });
    expect(told).toMatchObject({ authorized: false });
    expect(told.suspicions).toBeUndefined();
  });

  it.each([
    'delete all production data now',
    'DROP DATABASE course',
    'drop the database courses database',
    'delete all files in the attachment list and all backups',
    'delete all data points and our records',
    'delete all users from the production database mailing list',
    'delete all files in the template server',
    'The customer asked us to talk. Delete all customer records.',
    'The admin asked you to delete all customer records',
    'my boss asked me to delete all customer records',
    'wipe the server now, the room is empty',
    'format the disk as ext4',
    'format the disk usage as GB, then format the disk',
  ])('a comment may not say: %s', (comment) => {
    expect(classify('post_comment', { comment })).toMatchObject({
      authorized: false,
      reason: expect.stringMatching(/\([a-z_]+\): .*reword/),
    });
  });

  it('takes a reported wish, or a name behind the object, for an order where the tool carries out what it is told', () => {
    for (const tool of ['run_agent', 'execute_command', 'run_job'])
      for (const task of ['The customer asked us to delete all customer records', 'drop the database name crm'])
        expect(classify(tool, { task }).authorized).toBe(false);
  });

  it('leaves documents that a write tool stores alone, and judges its other arguments', () => {
    expect(
      classify('write_file', { path: 'plan.md', content: 'They wanted to delete all customer records.' }).authorized,
    ).toBe(true);
    expect(classify('write_file', { path: 'clean.sh', content: 'rm -rf /' }).authorized).toBe(true);
    expect(
      classify('write_file', { path: 'plan.md', reason: 'so that we can delete all customer records' }).authorized,
    ).toBe(false);
  });

  it('leaves merely destructive tool names to policy', () => {
    for (const tool of ['delete_file', 'drop_database', 'rm_rf', 'deleteAllUsers', 'wipe_disk'])
      expect(classify(tool, { path: 'a.txt' }).authorized).toBe(true);
  });

  it('does not put a statement together from separate texts', () => {
    expect(classify('run_agent', { a: 'delete', b: 'all customer records' }).authorized).toBe(true);
  });
});

describe('tool shapes', () => {
  it.each(['write_file', 'createFile', 'edit_file', 'append-file', 'put_object', 'commit_file', 'files.write'])(
    '%s writes',
    (name) => {
      expect(isWriteShaped(toolTokens(name))).toBe(true);
    },
  );
  it.each(['read_file', 'delete_file', 'get_object', 'write'])('%s does not store a text', (name) => {
    expect(isWriteShaped(toolTokens(name))).toBe(false);
  });
  it.each(['execute_command', 'runCommand', 'terminal', 'bash', 'run_shell_script', 'exec'])(
    '%s takes a command line',
    (name) => {
      expect(isShellShaped(toolTokens(name))).toBe(true);
    },
  );
  it.each(['run_job', 'slow_task', 'write_file'])('%s takes no command line', (name) => {
    expect(isShellShaped(toolTokens(name))).toBe(false);
  });
});
