import { FakeSidecar, fakeSnapshot, HOLD_PING, tempSocket, waitFor } from '@spock/testkit';
import { afterEach, expect, it, vi } from 'vitest';

import { createDiplomat } from './connect.ts';

/** Every global that a fake can take the place of, as Jest does. */
const ALL = {
	toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'setInterval', 'Date', 'performance', 'queueMicrotask'],
};

afterEach(() => {
	vi.useRealTimers();
	vi.resetModules();
});

it.each(['before the module is loaded', 'before it connects', 'after'] as const)(
	'fake timers of a test, switched on %s, stop neither deadlines nor reconnects',
	async (when) => {
		await using place = await tempSocket();
		const sidecar = await FakeSidecar.listen(place.path, HOLD_PING);
		sidecar.publish(fakeSnapshot('barista', 1, ['10.0.0.1:80']));
		const fake = (): void => void vi.useFakeTimers(ALL as Parameters<typeof vi.useFakeTimers>[0]);
		let create = createDiplomat;
		if (when === 'before the module is loaded') {
			vi.resetModules();
			fake();
			create = (await import('./connect.ts')).createDiplomat;
		}
		if (when === 'before it connects') fake();
		const diplomat = create({ path: place.path, retryDelayMsMax: 5 });
		if (when === 'after') {
			await diplomat.getService('barista');
			fake();
		}
		await expect(diplomat.request('ping', null, { timeoutMs: 30 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		vi.useRealTimers();
		await expect(diplomat.request('ping', null, { timeoutMs: 30 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		fake();
		await sidecar.stop();
		vi.useRealTimers();
		await using _next = await FakeSidecar.listen(place.path);
		await waitFor('the next connection', () => diplomat.status().state === 'ready');
		await diplomat.close();
	},
);
