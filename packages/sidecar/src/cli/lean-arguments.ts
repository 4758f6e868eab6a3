import type { ClientFlags, TargetFlags } from './client/sidecar-target.ts';
import type { WaitFlags } from './commands/wait.ts';

/** `--timeout` of every command that asks. */
export const DEFAULT_TIMEOUT = '5s';

/** A command that needs no command line parser. */
export type LeanCommand =
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
 * else, help and mistakes among it, which is to be shown by the whole command line.
 */
export function readLeanCommand(args: readonly string[]): LeanCommand | undefined {
	const [name, ...rest] = args;
	if (name === 'health') {
		const { json, ...flags } = readFlags(rest, true) ?? {};
		if (json === undefined) return undefined;
		return { name, flags: { timeout: DEFAULT_TIMEOUT, ...flags, ...(json && { json }) } };
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
		// A flag with nothing behind it, or with another flag: whoever can explain it shall read it.
		if (!Object.hasOwn(VALUE_FLAGS, flag) || value === undefined || value.startsWith('-')) return undefined;
		values[VALUE_FLAGS[flag] as string] = value;
	}
	return { ...values, json };
}
