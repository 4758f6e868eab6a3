import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Registration, RegistrationMessage, RequestEndMessage } from '@spock/client';
import type { RegisterServiceData, RegistrationCheck, RegistrationReply } from '@spock/protocol';
import type { ClientFlags } from '../client/sidecar-target.ts';
import { stayConnected } from '../client/stay-connected.ts';
import { commandFailure } from '../client/with-client.ts';
import { CommandError, EXIT, print, printable } from '../output/output.ts';

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
 * registration must succeed; after that it waits for a sidecar that restarts, and the client registers again. A sidecar that refuses
 * the registration ends it.
 */
export async function register(service: string, flags: RegisterFlags): Promise<void> {
	const data = registrationOf(service, flags);
	let registration: Registration | undefined;
	let shown = '';
	const show = ({ id, service: name, instance, state, error }: RegistrationReply): void => {
		const reply = { id, service: name, instance, state, error };
		const line = flags.json ? JSON.stringify(reply) : printable(formatRegistration(reply));
		if (line !== shown) print(line);
		shown = line;
	};
	let isConnected = (): boolean => true;
	const onChange = (message: unknown): void => {
		// Without a sidecar there is no news of it.
		if (isConnected()) show(message as RegistrationMessage);
	};
	const { failed, fail } = commandFailure();
	const onEnd = (message: unknown): void => {
		const { func, own, error } = message as RequestEndMessage;
		// The client would ask every sidecar to come, in case it is another one.
		if (func === 'registerService' && own && error?.retryable === false) fail(error);
	};
	subscribe('spock:client:registration', onChange);
	subscribe('spock:client:request:end', onEnd);
	try {
		await stayConnected(flags, {
			client: 'sidecar register',
			failed,
			begin: async (client, options) => {
				isConnected = () => client.status().state === 'ready';
				registration = await client.register(data, options);
			},
			back: () => {
				shown = '';
			},
			end: async (options) => {
				if (registration?.state !== 'registered') {
					process.stderr.write(`stopped while not registered${formatReason(registration?.error)}\n`);
				}
				if (isConnected()) await registration?.drain(options);
			},
		});
	} finally {
		unsubscribe('spock:client:registration', onChange);
		unsubscribe('spock:client:request:end', onEnd);
	}
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
	return `${service} (${name}): ${state}${formatReason(error)}`;
}

function formatReason(error: string | null | undefined): string {
	return error ? `: ${error}` : '';
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
