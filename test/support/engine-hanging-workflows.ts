/** The workflows after a release whose calls hold their thread: for some tenths of a second, or for ever. */
export async function toolCall({ tool }: { tool: string }): Promise<void> {
  let turns = 0;
  while (tool === 'for_ever' || turns < 300_000_000) turns += 1;
}
