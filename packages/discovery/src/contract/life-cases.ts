import assert from 'node:assert/strict';

import type { Cases } from './bench.ts';
import { hasCode, recordWatch } from './watch-recorder.ts';

const HERE = [{ host: '10.0.0.1', port: 80 }];

/** What a backend promises of its name, its status and its end. */
export function lifeCases(canList: boolean): Cases {
	return {
		'status has the name of the backend, and its state before the first answer is no failure': async ({ backend }) => {
			assert.ok(backend.name !== '');
			const { name, state, addresses } = backend.status();
			assert.equal(name, backend.name);
			assert.notEqual(state, 'down');
			assert.ok(Array.isArray(addresses));
		},

		'close ends every watch, is idempotent, and nothing can be started after it': async (bench) => {
			const { backend, setService } = bench;
			await setService('barista', HERE);
			const watch = recordWatch(bench, { service: 'barista' });
			await watch.shows('10.0.0.1:80');
			await backend.close();
			await backend.close();
			const { told } = watch;
			await setService('barista', []);
			await new Promise<void>((resolve) => setImmediate(resolve));
			assert.equal(watch.told, told);
			assert.throws(() => recordWatch(bench, { service: 'barista' }), hasCode('CLOSED'));
			if (canList) await assert.rejects(backend.list({}), hasCode('CLOSED'));
			watch.stop();
		},

		'close before the first answer silences the watch': async (bench) => {
			const { backend, setService } = bench;
			await setService('barista', HERE);
			const watch = recordWatch(bench, { service: 'barista' });
			const { told } = watch;
			await backend.close();
			assert.equal(watch.told, told);
		},
	};
}
