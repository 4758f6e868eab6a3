import { isUtf8 } from 'node:buffer';

import type { CreateOptions, Diplomat } from '@spock/client';

import { PRODUCT, type Subject } from '../subject.ts';

/** A client with some members replaced. */
export function clientWith(
	replace: (diplomat: Diplomat) => Partial<Record<keyof Diplomat, unknown>>,
): Partial<Subject> {
	return {
		createDiplomat: (options) => {
			const diplomat = PRODUCT.createDiplomat(options);
			return Object.assign(diplomat, replace(diplomat));
		},
	};
}

/** Drops everything that arrives after a chunk that is not UTF-8. */
export function createDeafDiplomat({ transport, ...options }: CreateOptions = {}): Diplomat {
	if (transport === undefined) throw new TypeError('the fuzz gives each client its transport');
	return PRODUCT.createDiplomat({
		...options,
		transport: (target, receive, ...rest) => {
			let isDeaf = false;
			const hear = (chunk: Buffer): void => {
				isDeaf ||= !isUtf8(chunk);
				if (!isDeaf) receive(chunk);
			};
			return transport(target, hear, ...rest);
		},
	});
}
