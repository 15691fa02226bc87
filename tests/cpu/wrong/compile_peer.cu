// says: compile_peer.cu:5:
// says: cudaDeviceEnablePeerAccess: not supported by the CPU back end; there is one device
int main()
{
    return cudaDeviceEnablePeerAccess(1, 0);
}
