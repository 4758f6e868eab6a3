import { basename } from 'node:path';

/** What the command can be called: `sidecar` is the name of a stranger's package at the registry, so that there is `spock` as well. */
export const COMMAND_NAMES: readonly [string, ...string[]] = ['sidecar', 'spock'];

/** The name by which this process was called; `sidecar` where another program loads it. */
export function commandName(path: string = process.argv[1] ?? ''): string {
	const name = basename(path).replace(/\.js$/, '');
	return COMMAND_NAMES.find((known) => known === name) ?? COMMAND_NAMES[0];
}

/** The command as a person can type it where this process was started. */
export function typedCommand(env: Readonly<Record<string, string | undefined>> = process.env): string {
	// Set by npm and pnpm for what they run: it is in node_modules, and on no PATH of the user's.
	return env['npm_command'] === undefined ? commandName() : `npx --no-install ${commandName()}`;
}
