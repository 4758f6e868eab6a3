import { SpockError } from '@spock/protocol';

/**
 * Names that cannot be asked for: Consul's HTTP server refuses a path with what cannot be printed, and moves these segments
 * away (measured on 1.20.2; a `/` within a name is no trouble). Asking would look like a Consul that is ill.
 */
const NOT_A_NAME = /^\.{0,2}$|[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Throws BAD_REQUEST for a name that no Consul answers for; `path` is the member that it came in. */
export function refuseUnaskable(path: 'key' | 'service', name: string): void {
	if (!NOT_A_NAME.test(name)) return;
	const message = `Consul cannot have a ${path} named ${JSON.stringify(name)}: use another name`;
	throw new SpockError('BAD_REQUEST', message, { details: { path } });
}
