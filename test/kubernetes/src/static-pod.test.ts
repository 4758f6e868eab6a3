import { describe, expect, it } from 'vitest';

import { type Manifest, staticPod, workloadTemplate } from './static-pod.ts';

const probe = { exec: { command: ['sidecar', 'health'] } };
const deployment: Manifest = {
	kind: 'Deployment',
	metadata: { name: 'barista-app' },
	spec: {
		template: {
			metadata: { labels: { app: 'barista' } },
			spec: {
				terminationGracePeriodSeconds: 35,
				initContainers: [{ name: 'sidecar', image: 'sidecar:1', restartPolicy: 'Always', startupProbe: probe }],
				containers: [
					{ name: 'log-shipper', image: 'log-shipper:1' },
					{
						name: 'app',
						image: 'app:1',
						args: ['serve'],
						volumeMounts: [{ name: 'uds', mountPath: '/uds', readOnly: true }],
					},
				],
				volumes: [{ name: 'uds', emptyDir: {} }],
			},
		},
	},
};
const app = { service: 'barista', manner: 'leaves', leavesAfterMs: 0 } as const;
const appPlace = { directory: '/run/lookup-app', file: 'app.mjs' };

describe('a static pod of a workload', () => {
	const pod = staticPod(workloadTemplate([{ kind: 'NetworkPolicy', metadata: { name: 'x' } }, deployment]), {
		name: 'order',
		app,
		appPlace,
	});

	it('has the sidecar as it stands in the manifest, and the settings of the pod', () => {
		expect(pod.spec).toMatchObject({
			terminationGracePeriodSeconds: 35,
			initContainers: [{ name: 'sidecar', image: 'sidecar:1', restartPolicy: 'Always', startupProbe: probe }],
		});
		expect(pod.metadata).toMatchObject({ name: 'order', labels: { app: 'barista' } });
	});

	it('has another program in the container of the app, and all else of it', () => {
		expect(pod.spec.containers.map(({ name }) => name)).toEqual(['app', 'log-shipper']);
		expect(pod.spec.containers[0]).toMatchObject({
			image: 'app:1',
			command: ['node', '/lookup-app/app.mjs'],
			args: [],
			env: [
				{ name: 'LOOKUP_APP', value: JSON.stringify(app) },
				{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
			],
			volumeMounts: [
				{ name: 'uds', mountPath: '/uds', readOnly: true },
				{ name: 'lookup-app', mountPath: '/lookup-app', readOnly: true },
			],
		});
	});

	it('is done when its app is, if it is one of a Job', () => {
		const job = staticPod(workloadTemplate([deployment]), { name: 'job', app, appPlace, isJob: true });
		expect(job.spec.restartPolicy).toBe('Never');
		expect(pod.spec.restartPolicy).toBeUndefined();
	});

	it('may have a sidecar with other probes and more settings', () => {
		const sidecar = { startupProbe: { grpc: { port: 50061 } }, env: [{ name: 'SPOCK_GRPC_ANY', value: 'true' }] };
		const changed = staticPod(workloadTemplate([deployment]), { name: 'x', app, appPlace, sidecar });
		expect(changed.spec.initContainers).toEqual([
			{ name: 'sidecar', image: 'sidecar:1', restartPolicy: 'Always', ...sidecar },
		]);
		const { initContainers: _, ...without } = pod.spec;
		expect(() => staticPod({ spec: without }, { name: 'x', app, appPlace, sidecar })).toThrow('no native sidecar');
	});

	it('is refused where it is not clear of what to make it', () => {
		expect(() => workloadTemplate([])).toThrow('0 workloads');
		expect(() => workloadTemplate([deployment, deployment])).toThrow('2 workloads');
		const nameless = { spec: { containers: [{ name: 'main', image: 'app:1' }] } };
		expect(() => staticPod(nameless, { name: 'x', app, appPlace })).toThrow('no container `app`');
	});
});
