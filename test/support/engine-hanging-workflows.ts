/** The workflows after a release whose calls hold their thread: for a moment, for some tenths of a second, or for ever. */
export async function toolCall({ tool }: { tool: string }): Promise<void> {
  const enough = tool === 'brief' ? 75_000_000 : 300_000_000;
  let turns = 0;
  while (tool === 'for_ever' || turns < enough) turns += 1;
}
