import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { alias: { 'tt-static': fileURLToPath(new URL('../tt_kernel/widgets/static', import.meta.url)) } },
  server: { fs: { allow: ['..'] } },
  test: { environment: 'jsdom', include: ['test/**/*.test.ts'], pool: 'threads' }
});
