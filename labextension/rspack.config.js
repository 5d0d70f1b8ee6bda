const path = require('path');

// Module and chunk ids are names, not numbers that depend on the folder: the build is the same to the byte everywhere.
module.exports = {
  optimization: { moduleIds: 'named', chunkIds: 'named' },
  resolve: {
    alias: { 'tt-static': path.resolve(__dirname, '..', 'tt_kernel', 'widgets', 'static') }
  }
};
