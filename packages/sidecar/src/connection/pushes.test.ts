import type { RegistrationReply } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { registrationPush } from './pushes.ts';

const FRAME_BYTES_MAX = 1024;

function registration(service: string, error: string | null): RegistrationReply {
	return { id: 'b1', service, instance: 'node/b1', state: 'pending', error };
}

function pushed(service: string, error: string | null): unknown {
	const line = registrationPush(registration(service, error), FRAME_BYTES_MAX);
	if (line === undefined) return undefined;
	expect(Buffer.byteLength(line) - 1).toBeLessThanOrEqual(FRAME_BYTES_MAX);
	return JSON.parse(line);
}

describe('the push of a registration', () => {
	it('is told as it is where it fits', () => {
		expect(pushed('barista', 'no leader')).toEqual({
			event: 'registration',
			data: registration('barista', 'no leader'),
		});
	});

	it('says less about an error that does not fit into a frame', () => {
		expect(pushed('barista', '\0'.repeat(2000))).toEqual({
			event: 'registration',
			data: registration('barista', '\0'.repeat(64)),
		});
	});

	it('is left out where the names alone do not fit', () => {
		expect(pushed('€'.repeat(512), 'no leader')).toBeUndefined();
		expect(pushed('€'.repeat(512), null)).toBeUndefined();
	});
});
