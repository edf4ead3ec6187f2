/// \file
/// Small kernels whose requests to memory can be counted by hand. They are compiled as the checked
/// kernels are (counted_kernels.cpp), and launched from the tests; one thread block each, but for those
/// that say otherwise.
#pragma once

#include <cstdint>

namespace pagelab::test {

/// y[t] = x[offset + t · stride]
void count_strided_load(const float* x, float* y, int offset, int stride, unsigned int threads);
/// y[t] = x[t], one byte a lane
void count_byte_copy(const std::uint8_t* x, std::uint8_t* y);
/// y[t] = x[t] + 1 of two numbers a lane: one access of 8 bytes
void count_pair_copy(const float* x, float* y);
/// y[t] = x[t] + 1 of four numbers a lane: one access of 16 bytes
void count_quad_copy(const float* x, float* y);

/// A tile of 32 × 32 floats in shared memory, whose column 3 each lane reads a row of.
void count_shared_column(float* y);
extern const int kColumnStoreLine;    ///< where it writes the tile
extern const int kColumnBarrierLine;  ///< where its threads meet
extern const int kColumnLoadLine;     ///< where it reads the column
/// The same with rows of 33.
void count_padded_column(float* y);
/// Each lane writes and reads 16 bytes of shared memory, its neighbour's 16 bytes further on.
void count_shared_quads(float* y);
/// All lanes read the same word of shared memory.
void count_shared_broadcast(float* y);
/// A thread reads dynamic shared memory that its neighbour wrote.
void count_dynamic_shared(float* y);

/// Lanes below 16 copy x to y, the others z to y; then y is stored. The load is in a function or not.
void count_halves(const float* x, const float* z, float* y, bool calls_function);
/// Lane t reads t % 3 + 1 rows of x and then one of z, by two calls of the same function.
void count_two_calls(const float* x, const float* z, float* y);
/// Lane t adds up x[t], x[32 + t], … of t % 3 + 1 rows, and stores the sum.
void count_different_trips(const float* x, float* y);
/// In each of three rounds all lanes read x, and every second one goes on to write y.
void count_skipped_rest(const float* x, float* y);
/// Lanes t % 4 == 0 return at once; of the others, odd ones read x; all of these store to y.
void count_early_return(const float* x, float* y);

/// Every lane adds 1 to the number at t % distinct.
void count_global_atomics(int* numbers, int distinct);
/// The same in shared memory.
void count_shared_atomics(int* numbers, int distinct);
/// Each lane in its turn takes a lock and adds 1 to a plain number.
void count_lock(int* lock, int* number);

/// Two barriers, five shuffles, a vote, a reduction and a `__syncwarp`.
void count_words(float* y, unsigned int threads);
/// masks[t]: who is there in each half of the warp, and in all of it afterwards.
void count_activemask(const float* x, unsigned int* masks);
/// Each thread copies 16 bytes asynchronously to shared memory, and from there to y. Threads from num_readers
/// on read nothing and fill up with zeros.
void count_async_copy(const float* x, float* y, unsigned int num_readers);
/// A product of 16 × 16 bfloat16 by its own transpose: an ldmatrix.x4, an ldmatrix.x2 and an mma. The rows
/// are 32 bytes apart in shared memory, or 48.
void count_matrix_product(const std::uint16_t* a, float* c, bool is_padded);
/// Thread blocks of 64 threads, as many as it takes: y[i] = x[i].
void count_grid(const float* x, float* y, int count);
/// A kernel that was compiled without hooks would be launched like this.
void launch_unchecked();

}  // namespace pagelab::test
