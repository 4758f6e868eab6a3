import type { RegisterServiceData, RegistrationCheck, RegistrationReply } from '@spock/protocol';

import { stayConnected } from '../client/stay-connected.ts';
import type { ClientFlags } from '../client/with-client.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';
import { print, printable } from '../output/output.ts';

/** Flags of `sidecar register`, as commander gives them. */
export interface RegisterFlags extends ClientFlags {
	readonly port: string;
	readonly host?: string;
	readonly id?: string;
	readonly tag?: readonly string[];
	readonly meta?: readonly string[];
	readonly weight?: string;
	readonly check?: string;
}

/**
 * `sidecar register SERVICE`: holds a registration until Ctrl-C or SIGTERM, which deregisters it (0). The first
 * registration must succeed; after that it waits for a sidecar that restarts, and registers again.
 */
export async function register(service: string, flags: RegisterFlags): Promise<void> {
	let registration = registrationOf(service, flags);
	let last: RegistrationReply | undefined;
	const show = (reply: RegistrationReply): void =>
		print(flags.json ? JSON.stringify(reply) : printable(formatRegistration(reply)));
	await stayConnected(flags, {
		client: 'sidecar register',
		begin: async (client, timeoutMs, held) => {
			client.onPush = (event, data) => {
				if (event === 'registration') show(data as RegistrationReply);
			};
			last = await client.request('registerService', registration, timeoutMs);
			// The id that the sidecar gave it is kept: the next one might make another.
			registration = { ...registration, id: last.id };
			show(last);
			held();
		},
		end: async (client, timeoutMs) => {
			const { id } = last as RegistrationReply;
			client.onPush = () => undefined;
			await client.request('deregisterService', { id }, timeoutMs);
			show({ ...(last as RegistrationReply), state: 'deregistered', error: null });
		},
	});
}

/** What the flags say. Throws a CommandError naming a flag that is wrong. */
export function registrationOf(service: string, flags: RegisterFlags): RegisterServiceData {
	const { port, host, id, tag, meta, weight, check } = flags;
	return {
		service,
		port: wholeNumber('--port', port),
		...(host !== undefined && { host }),
		...(id !== undefined && { id }),
		...(tag && { tags: tag }),
		...(meta && { meta: Object.fromEntries(meta.map(readMeta)) }),
		...(weight !== undefined && { weights: { passing: wholeNumber('--weight', weight) } }),
		...(check !== undefined && { check: readCheck(check) }),
	};
}

/** One line for people. */
export function formatRegistration({ id, service, instance, state, error }: RegistrationReply): string {
	const name = instance === null || instance === id ? id : `${id}, in look-ups ${instance}`;
	return `${service} (${name}): ${state}${error === null ? '' : `: ${error}`}`;
}

function wholeNumber(flag: string, text: string): number {
	const value = Number(text);
	if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
		throw new CommandError(EXIT.usage, `${flag} must be a whole number, not ${text}`);
	}
	return value;
}

function readMeta(text: string): [name: string, value: string] {
	const at = text.indexOf('=');
	if (at < 1) throw new CommandError(EXIT.usage, `--meta must be name=value, not ${text}`);
	return [text.slice(0, at), text.slice(at + 1)];
}

function readCheck(text: string): RegistrationCheck {
	if (text.startsWith('tcp://')) return { tcp: text.slice('tcp://'.length) };
	if (/^https?:\/\//.test(text)) return { http: text };
	throw new CommandError(EXIT.usage, `--check must be http://…, https://… or tcp://host:port, not ${text}`);
}
