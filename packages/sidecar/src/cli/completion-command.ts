import { funcNames, type StatusReply } from '@spock/protocol';
import { Argument, type Command } from 'commander';

import { type Candidate, type Completion, complete } from './completion.ts';
import { COMPLETION_COMMAND, completionScript, SHELLS, type Shell } from './completion-scripts.ts';
import { print, printable } from './output/output.ts';

/** How long a press of Tab waits for a sidecar. */
const NAMES_TIMEOUT = '500ms';
/** More names are no help to anyone. */
const NAMES_MAX = 500;

/** `sidecar completion SHELL`, and the hidden command that its scripts call. */
export function addCompletion(program: Command): void {
	program
		.command('completion')
		.description('print a script that completes commands, flags, values and names in a shell')
		.addArgument(new Argument('<shell>', 'the shell that reads it').choices(SHELLS))
		.exitOverride()
		.action((shell: Shell) => {
			process.stdout.write(completionScript(shell));
		});
	program
		.command(COMPLETION_COMMAND, { hidden: true })
		.argument('[words...]')
		.exitOverride()
		.action(async (words: readonly string[]) => {
			const completion = complete(program, words);
			const candidates = [...completion.candidates, ...(await namesOf(completion, words.at(-1) ?? ''))];
			const lines = candidates.slice(0, NAMES_MAX).map(lineOf);
			print([...lines, `:${completion.paths ?? ''}`].join('\n'));
		});
}

function lineOf({ word, about }: Candidate): string {
	return about === undefined ? printable(word) : `${printable(word)}\t${printable(about.split('\n')[0] ?? '')}`;
}

/** What a running sidecar knows. Empty if none answers in time: a message would break the line that is being typed. */
async function namesOf({ names }: Completion, current: string): Promise<readonly Candidate[]> {
	if (names === undefined) return [];
	if (names.of === 'func') return matching(funcNames, current);
	const { of, flags } = names;
	try {
		const { withClient } = await import('./client/with-client.ts');
		const found = await withClient({ ...flags, timeout: NAMES_TIMEOUT }, async (client, options) => {
			if (of !== 'service') return namesIn(await client.request('status', null, options), of);
			const { services } = await client.request('listServices', {}, options);
			return services.map(({ name }) => name);
		});
		return matching(found, current);
	} catch {
		return [];
	}
}

/** Only keys that are watched already: to list others would make the sidecar watch every key of the registry. */
function namesIn({ keyWatches, events }: StatusReply, of: 'key' | 'stream' | 'group'): readonly string[] {
	if (of === 'stream') return events?.streams.map(({ stream }) => stream) ?? [];
	if (of === 'group') return events?.groups.map(({ group }) => group) ?? [];
	return keyWatches.map(({ key }) => key);
}

function matching(words: readonly string[], current: string): Candidate[] {
	return [...new Set(words)].filter((word) => word.startsWith(current)).map((word) => ({ word }));
}
