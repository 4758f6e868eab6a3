import { basename, delimiter, dirname, isAbsolute, relative } from 'node:path';

import { shellWord } from '@spock/protocol/internal';

const PACKAGE = '@spock/sidecar';

/** What the command can be called: `sidecar` is the name of a stranger's package at the registry, so that there is `spock` as well. */
export const COMMAND_NAMES: readonly [string, ...string[]] = ['sidecar', 'spock'];

/** The name by which this process was called; `sidecar` where another program loads it. */
export function commandName(path: string = process.argv[1] ?? ''): string {
	const name = basename(path).replace(/\.js$/, '');
	return COMMAND_NAMES.find((known) => known === name) ?? COMMAND_NAMES[0];
}

/** What decides how a command is typed. */
export interface CalledAs {
	readonly env: Readonly<Record<string, string | undefined>>;
	/** The path by which this process was started. */
	readonly path: string;
	readonly directory: string;
}

/** The command as a person can type it where this process was started: each form runs there as it is. */
export function typedCommand(called: Partial<CalledAs> = {}): string {
	const { env = process.env, path = process.argv[1] ?? '', directory = process.cwd() } = called;
	// Set by npm and pnpm for what they run: it is in node_modules, or in a cache of theirs, and on no PATH of the user's. By the name of the
	// package, because the name of the command alone is another package of the registry where this one is not installed.
	if (env['npm_command'] !== undefined) return `npx ${PACKAGE}`;
	const name = commandName(path);
	const isOurs = isAbsolute(path) && basename(path).replace(/\.js$/, '') === name;
	if (!isOurs || (env['PATH'] ?? '').split(delimiter).includes(dirname(path))) return name;
	const near = relative(directory, path);
	const shown = shellWord(near.startsWith('..') ? path : near);
	return path.endsWith('.js') ? `node ${shown}` : shown;
}

/** Flags that name the sidecar that is asked, and how. */
const TARGET_FLAGS = ['--socket', '--connect', '--token-file', '--tls-ca', '--tls-cert', '--tls-key'];

/** The flags of these arguments, with their values, that name the sidecar that is asked. */
export function targetWords(args: readonly string[]): string[] {
	const end = args.indexOf('--');
	const own = end < 0 ? args : args.slice(0, end);
	return own.flatMap((word, index) => {
		const flag = TARGET_FLAGS.find((one) => word === one || word.startsWith(`${one}=`));
		if (flag === undefined) return [];
		const value = word === flag ? own[index + 1] : word.slice(flag.length + 1);
		return value === undefined ? [] : [flag, value];
	});
}

/**
 * A command that a command advises, to be pasted into a shell: each word quoted where it must be, and for the sidecar that this process
 * was started to ask.
 */
export function commandLine(...words: readonly string[]): string {
	return [typedCommand(), ...[...words, ...targetWords(process.argv.slice(2))].map(shellWord)].join(' ');
}

/** Text of a sidecar, where a command that it advises, as in "`sidecar events status`", is as it is typed here. */
export function typedAdvice(text: string): string {
	const target = targetWords(process.argv.slice(2)).map(shellWord);
	return text.replaceAll(
		/`sidecar ([^`]*)`/g,
		(_, words: string) => `\`${[typedCommand(), words, ...target].join(' ')}\``,
	);
}
