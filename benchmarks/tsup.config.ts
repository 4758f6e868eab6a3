import { defineConfig } from 'tsup';

export default defineConfig({
	entry: {
		index: 'src/main.ts',
		consul: 'src/consul/consul-main.ts',
		events: 'src/events/events-main.ts',
		'events-app': 'src/events/table/app.ts',
		'events-peer': 'src/events/peers/peer-app.ts',
		'events-store': 'src/events/table/store.ts',
		'load-client': 'src/load/load-client.ts',
		rolling: 'src/rolling/rolling-main.ts',
		'rolling-client': 'src/rolling/rolling-client.ts',
		'rolling-instance': 'src/rolling/rolling-instance.ts',
		scale: 'src/scale/scale-main.ts',
		serve: 'src/servers/serve.ts',
		probe: 'src/probes/probe.ts',
	},
	format: ['esm'],
	target: 'node20.19',
	platform: 'node',
	clean: true,
	silent: true,
	splitting: true,
	treeshake: false,
	// It is there as source only.
	noExternal: ['@spock/testkit'],
});
