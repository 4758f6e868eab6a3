import type { ClientFlags, TargetFlags } from './client/sidecar-target.ts';
import { health } from './commands/health.ts';
import { type WaitFlags, wait } from './commands/wait.ts';
import { reportFailureAsJson } from './output/error-json.ts';
import { EXIT, handleLostOutput, reportFailure } from './output/output.ts';

/**
 * The commands that probes and pods run over and over, in a bundle of its own: a probe each second must not pay for a command
 * line parser, help, and a dozen modules. `bin/sidecar.js` asks it first. Returns false, having done nothing,
 * for anything else, such as `--help` or a wrong flag, which the whole command line handles.
 */
export async function runLean(args: readonly string[]): Promise<boolean> {
	const command = readLeanCommand(args);
	if (command === undefined) return false;
	handleLostOutput();
	// Set and not forced: what stdout still holds is written before the process ends by itself.
	const isJson = command.name === 'health' && command.flags.json === true;
	process.exitCode = await run(command).catch(isJson ? (error) => reportFailureAsJson(error) : reportFailure);
	return true;
}

async function run(command: LeanCommand): Promise<number> {
	if (command.name === 'wait') return wait(command.command, command.flags);
	await health(command.flags);
	return EXIT.ok;
}

/** A command that needs no command line parser. */
type LeanCommand =
	| { readonly name: 'health'; readonly flags: ClientFlags }
	| { readonly name: 'wait'; readonly flags: WaitFlags; readonly command: readonly string[] };

/** Flags with a value, by the names that they have in code. */
const VALUE_FLAGS: Readonly<Record<string, keyof TargetFlags | 'timeout'>> = {
	'--socket': 'socket',
	'--connect': 'connect',
	'--token-file': 'tokenFile',
	'--tls-ca': 'tlsCa',
	'--tls-cert': 'tlsCert',
	'--tls-key': 'tlsKey',
	'--timeout': 'timeout',
};

/**
 * `health` and `wait` with flags that are plainly right, read as the whole command line reads them. Undefined for everything
 * else, such as help and mistakes, which the whole command line handles.
 */
export function readLeanCommand(args: readonly string[]): LeanCommand | undefined {
	const [name, ...rest] = args;
	if (name === 'health') {
		const { json, ...flags } = readFlags(rest, true) ?? {};
		if (json === undefined) return undefined;
		return { name, flags: { ...flags, ...(json && { json }) } };
	}
	if (name !== 'wait') return undefined;
	const end = rest.indexOf('--');
	const { json, ...flags } = readFlags(end === -1 ? rest : rest.slice(0, end), false) ?? {};
	return json === undefined ? undefined : { name, flags, command: end === -1 ? [] : rest.slice(end + 1) };
}

function readFlags(args: readonly string[], takesJson: boolean): (WaitFlags & { readonly json: boolean }) | undefined {
	const values: { [name: string]: string } = {};
	let json = false;
	for (let index = 0; index < args.length; index++) {
		const arg = args[index] as string;
		if (takesJson && arg === '--json') {
			json = true;
			continue;
		}
		const [, flag = arg, inline] = /^(--[^=]+)=(.*)$/s.exec(arg) ?? [];
		const value = inline ?? args[++index];
		// A flag without a value: the whole command line explains it.
		if (!Object.hasOwn(VALUE_FLAGS, flag) || value === undefined || value.startsWith('-')) return undefined;
		values[VALUE_FLAGS[flag] as string] = value;
	}
	return { ...values, json };
}
