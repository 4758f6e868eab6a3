import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const pod = parse(readFileSync(new URL('../../../k8s/pod.yaml', import.meta.url), 'utf8'));
const [sidecar] = pod.spec.initContainers;
const [app] = pod.spec.containers;

describe('the pod of k8s/', () => {
	it('asks by a program only once, at the start: that costs 50 ms of CPU each time', () => {
		expect(sidecar.startupProbe.exec.command).toEqual(['sidecar', 'health']);
		expect(sidecar.livenessProbe.httpGet.path).toBe('/livez');
		expect(sidecar.readinessProbe.httpGet.path).toBe('/readyz');
	});

	it('mounts the socket read-only in the app, which can then not replace it', () => {
		const volume = sidecar.volumeMounts[0].name;
		expect(sidecar.volumeMounts).toContainEqual({ name: volume, mountPath: '/uds' });
		expect(app.volumeMounts).toContainEqual({ name: volume, mountPath: '/uds', readOnly: true });
	});

	it('lets the sidecar outlive the app, with time to serve it to its end', () => {
		expect(sidecar.restartPolicy).toBe('Always');
		expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(30);
	});
});
